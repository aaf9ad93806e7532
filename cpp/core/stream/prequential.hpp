// Predict, then learn: the steps of a stream whose targets come later than its rows.
#pragma once

#include <cmath>

#include "core/base/types.hpp"

namespace kernsift {

// Steps first .. last - 1 of: predict row i (its mean and, if `variance` has rows, the variance of a new observation),
// then learn row i - delay. Rows to learn run on `delay` steps behind the last prediction. Nothing is allocated a row.
//
// Memories are weighed by what they predicted when the row came, before the targets that were late: `members` (X.rows()
// x outputs * memories) keeps it from one step to the other; NaN where a row was not
// predicted. Where nothing is late it has no rows.
template <class Model>
void prequential(Model& model, const Rows& X, const Rows& Y, const ConstVectorRef& v, Index delay, Index first,
                 Index last, RowsOut mean, RowsOut variance, RowsOut members, std::int64_t* n_basis) {
  for (Index i = first; i < last; ++i) {
    if (i < X.rows()) {
      n_basis[i] = model.dictionary().size();
      model.predict_one(X.row(i).transpose(), mean.row(i).transpose());
      if (variance.rows() > 0) model.variance_one(variance.row(i).transpose());
      if (members.rows() > 0) model.predict_members(members.row(i).transpose());
    }
    if (i >= delay && members.rows() > 0 && std::isfinite(members(i - delay, 0)))
      model.weigh_by(members.row(i - delay).transpose());
    if (i >= delay) model.update(X.row(i - delay).transpose(), Y.row(i - delay).transpose(), v[i - delay]);
  }
}

}  // namespace kernsift
