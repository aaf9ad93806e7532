// The marginal likelihood of a ridge: a Gaussian process whose signal scale is the best one.
#pragma once

#include <cmath>

namespace kernsift {

// What widths and ridge change of minus twice the log evidence: n log cost + log(|A| / |prior|), A the penalised normal
// matrix and n the rows of all outputs together.
inline double evidence_loss(double n, double cost, double log_det) { return n * std::log(cost) + log_det; }

// The log evidence of one output of n rows (less one for an unpenalised bias), `cost` the regularised cost and
// `log_det` log(|A| / alpha^m).
inline double log_evidence(double n, double cost, double log_det, double sum_log_weights) {
  constexpr double kLogTwoPi = 1.8378770664093454836;
  return -0.5 * (n * (1 + kLogTwoPi - std::log(n)) + evidence_loss(n, cost, log_det) - sum_log_weights);
}

}  // namespace kernsift
