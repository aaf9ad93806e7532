// What a model's state says of its noise and of its ridge, without the rows [MATH 1.8]: for either engine.
#pragma once

#include <algorithm>

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

Vector gcv(const Vector& rss, double rows, double dof);
template <class Model>
Vector gcv(const Model& model) {
  return gcv(model.rss(), model.rows_counted(), model.dof());
}

// Of the Gaussian process with kernel s2 k^ and noise s2 alpha / v_i, at its best signal scale s2.
Vector log_evidence(const Vector& cost, double rows, double kernels, double alpha, double log_det,
                    double sum_log_weights);
template <class Model>
Vector log_evidence(const Model& model) {
  return log_evidence(model.cost(), model.effective_rows(), static_cast<double>(model.dictionary().size()),
                      model.settings().alpha, model.log_det(), model.sum_log_weights());
}

}  // namespace kernsift
