// What one row looks like from the current model, and the pruning scores both engines share.
#pragma once

#include <cmath>

#include "core/types.hpp"

namespace kernsift {

// The scalars of one row against the current model (MATH 1.3); every decision is a function of them.
struct Look {
  double delta;       // squared distance of phi(x) to the span
  double Delta;       // 1/v + w'C w
  double den;         // delta + alpha Delta
  double leverage;    // v w'C w = v Delta - 1
  double weight;      // v
  double usefulness;  // decrease of the cost if the row becomes a kernel, against a normal step
  double loss;        // |h|^2 / Delta: what the trace of the inverse loses at a normal step
  double trace;       // a bound on that trace
  double rise;        // |rho|^2 / Delta: by how much the cost grows at a normal step

  // False where the inverse has turned indefinite: learning the row would only harm it.
  bool sound() const { return Delta > 0 && den > 0 && std::isfinite(usefulness) && bounded(loss, trace, rise); }

  // Where weights lie further apart than a double reaches, rounding has made an inverse from which a row, or a kernel that
  // leaves, would take more than there is: soon there would be infinities in it.
  static bool bounded(double loss, double trace, double rise) {
    constexpr double kRounding = 2.0;
    return loss <= kRounding * trace && std::isfinite(rise);
  }
};

// eps_i = sum over outputs of beta_i^2 / d_i, the exact increase of the cost when kernel i goes [JP 19], for the
// model as it would be after growing by the row (MATH 1.7). In: beta and d before the row, g = P^-1 k (kernel part),
// a = K^-1 k, rho the a-priori residual. False where a d_i comes out non-positive: the state has broken down.
bool scores_after_growth(const Look& row, const ConstMatrixRef& beta, const ConstVectorRef& d,
                         const ConstVectorRef& g, const ConstVectorRef& a, const ConstVectorRef& rho, double alpha,
                         VectorRef scores);

}  // namespace kernsift
