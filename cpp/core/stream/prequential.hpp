// Predict, then learn: the steps of a stream whose targets come later than its rows.
#pragma once

#include <cmath>

#include "core/base/types.hpp"

namespace kernsift {

// What is written for each row, and what is kept of it until its target comes. Parts that are not wanted have no rows.
struct Foretelling {
  RowsOut mean, variance;  // of a new observation
  RowsOut half;            // half the width of an interval of the coverage whose normal quantile is `quantile`
  double quantile;
  // Until the target comes: what each memory predicted (outputs * memories), by which the memories are weighed, and
  // mean, variance and that of constant noise (3 outputs), by whose errors intervals are widened. NaN where a row was
  // not predicted.
  RowsOut members, said;
  std::int64_t* n_basis;
};

// Half the widths of intervals for a new observation of these variances, one an output.
template <class Model>
Vector half_widths(const Model& model, double quantile, const ConstVectorRef& variance) {
  return model.interval_widths(quantile).cwiseProduct(variance.cwiseSqrt());
}

// Steps first .. last - 1 of: predict row i, then learn row i - delay. Rows to learn run on `delay` steps behind the
// last prediction. Nothing is allocated a row but for intervals.
template <class Model>
void prequential(Model& model, const Rows& X, const Rows& Y, const ConstVectorRef& v, Index delay, Index first,
                 Index last, Foretelling& out) {
  const Index outputs = Y.cols();
  for (Index i = first; i < last; ++i) {
    if (i < X.rows()) {
      out.n_basis[i] = model.dictionary().size();
      model.predict_one(X.row(i).transpose(), out.mean.row(i).transpose());
      if (out.variance.rows() > 0) model.variance_one(out.variance.row(i).transpose());
      if (out.members.rows() > 0) model.predict_members(out.members.row(i).transpose());
      if (out.half.rows() > 0)
        out.half.row(i) = half_widths(model, out.quantile, out.variance.row(i).transpose()).transpose();
      if (out.said.rows() > 0) {
        out.said.row(i) << out.mean.row(i), out.variance.row(i), out.variance.row(i);
        model.constant_variance_one(out.said.row(i).tail(outputs).transpose());
      }
    }
    const Index late = i - delay;
    if (late < 0) continue;
    if (out.members.rows() > 0 && std::isfinite(out.members(late, 0)))
      model.weigh_by(out.members.row(late).transpose());
    if (out.said.rows() > 0 && std::isfinite(out.said(late, 0)))
      model.compare_with(out.said.row(late).head(outputs).transpose(),
                         out.said.row(late).segment(outputs, outputs).transpose(),
                         out.said.row(late).tail(outputs).transpose());
    model.update(X.row(late).transpose(), Y.row(late).transpose(), v[late]);
  }
}

}  // namespace kernsift
