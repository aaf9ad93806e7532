// What a model's state says of its noise and of its ridge, without the rows [MATH 1.8]: for either engine.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/types.hpp"

namespace kernsift {

// Maximum likelihood from the cost of one output; the flat prior of the bias takes one of the rows.
inline double noise_variance(double cost, double effective_rows) { return cost / std::max(effective_rows, 1.0); }

template <class Model>
Vector noise_variance(const Model& model) {
  Vector variance(model.n_outputs());
  for (Index o = 0; o < variance.size(); ++o) variance[o] = model.noise_variance(o);
  return variance;
}

template <class Model>
Vector gcv(const Model& model) {
  const double n = model.rows_counted(), free = n - model.dof();
  return model.rss() * (n / (free * free));  // [MATH 1.8]
}

// Of the Gaussian process with kernel s2 k^ and noise s2 alpha / v_i, at its best signal scale s2.
template <class Model>
Vector log_evidence(const Model& model) {
  constexpr double kLogTwoPi = 1.8378770664093454836;
  const double n = model.effective_rows(), m = static_cast<double>(model.dictionary().size());
  const double alpha = model.settings().alpha;
  const Vector cost = model.cost();
  Vector evidence(cost.size());
  for (Index o = 0; o < cost.size(); ++o) {
    const double s2 = cost[o] / (alpha * n);
    evidence[o] = -0.5 * (n + n * std::log(s2) + (n - m) * std::log(alpha) + model.log_det() + n * kLogTwoPi -
                          model.sum_log_weights());
  }
  return evidence;
}

}  // namespace kernsift
