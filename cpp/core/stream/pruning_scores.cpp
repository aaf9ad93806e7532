#include "core/stream/pruning_scores.hpp"

namespace kernsift {

bool scores_after_growth(const RowScalars& row, const ConstMatrixRef& beta, const ConstVectorRef& d,
                         const ConstVectorRef& g, const ConstVectorRef& a, const ConstVectorRef& rho, double alpha,
                         VectorRef scores) {
  const double Delta_b = row.delta * (row.den / row.Delta);
  const double share = row.delta / row.Delta;  // [MATH 1.7]
  scores.setZero();
  for (Index o = 0; o < beta.cols(); ++o)
    scores.array() += (beta.col(o) + (rho[o] / row.den) * (alpha * g - a)).array().square();
  // d_new = d - g^2 / Delta + w_b^2 / Delta_b, with w_b = a + share g
  const auto d_new = d.array() - g.array().square() / row.Delta + (a + share * g).array().square() / Delta_b;
  const bool sound = (d_new > 0).all();
  scores.array() /= d_new;  // [MATH 1.7]
  return sound;
}

}  // namespace kernsift
