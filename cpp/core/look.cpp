#include "core/look.hpp"

namespace kernsift {

bool scores_after_growth(const Look& row, const ConstMatrixRef& beta, const ConstVectorRef& d,
                         const ConstVectorRef& g, const ConstVectorRef& a, const ConstVectorRef& rho, double alpha,
                         VectorRef scores) {
  const double Delta_b = row.delta * (row.den / row.Delta);
  bool sound = true;
  for (Index i = 0; i < d.size(); ++i) {
    const double w_b = a[i] + (row.delta / row.Delta) * g[i];
    const double d_new = d[i] - g[i] * g[i] / row.Delta + w_b * w_b / Delta_b;  // [MATH 1.7]
    double squares = 0;
    for (Index o = 0; o < beta.cols(); ++o) {
      const double beta_new = beta(i, o) + (rho[o] / row.den) * (alpha * g[i] - a[i]);
      squares += beta_new * beta_new;
    }
    sound = sound && d_new > 0;
    scores[i] = squares / d_new;
  }
  return sound;
}

}  // namespace kernsift
