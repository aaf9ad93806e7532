#include "core/stream/evidence.hpp"

#include <cmath>

namespace kernsift {

Vector gcv(const Vector& rss, double rows, double dof) {
  const double free = rows - dof;
  return rss * (rows / (free * free));  // [MATH 1.8]
}

Vector log_evidence(const Vector& cost, double n, double m, double alpha, double log_det, double sum_log_weights) {
  constexpr double kLogTwoPi = 1.8378770664093454836;
  Vector evidence(cost.size());
  for (Index o = 0; o < cost.size(); ++o) {
    const double s2 = cost[o] / (alpha * n);
    evidence[o] = -0.5 * (n + n * std::log(s2) + (n - m) * std::log(alpha) + log_det + n * kLogTwoPi - sum_log_weights);
  }
  return evidence;
}

}  // namespace kernsift
