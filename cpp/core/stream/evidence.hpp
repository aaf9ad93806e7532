// What a model's state says of its noise and of its ridge, without the rows [MATH 1.8]: for either engine.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/types.hpp"
#include "core/ridge/evidence.hpp"
#include "core/ridge/gcv.hpp"

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
  const double n = model.rows_counted(), left = n - model.dof();
  Vector score = model.rss();
  for (double& rss : score) rss = gcv_score(n, rss, left);  // [MATH 1.8]
  return score;
}

// Of the Gaussian process with kernel s2 k^ and noise s2 alpha / v_i, at its best signal scale s2.
template <class Model>
Vector log_evidence(const Model& model) {
  const double penalised = static_cast<double>(model.penalised());
  const double log_det = model.log_det() - penalised * std::log(model.settings().alpha);
  Vector evidence = model.cost();
  for (double& cost : evidence) cost = log_evidence(model.effective_rows(), cost, log_det, model.sum_log_weights());
  return evidence;
}

}  // namespace kernsift
