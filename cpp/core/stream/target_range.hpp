// The range of the targets seen so far. A linear part has no bound: one row far from all others would be predicted as
// far from all targets. Predictions of a bounded model leave the range by half of it at most, to either side.
#pragma once

#include <algorithm>

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"

namespace kernsift {

class TargetRange {
 public:
  explicit TargetRange(Index n_outputs) : ends_(n_outputs, 2) {}

  void add(const double* y) {
    for (Index o = 0; o < ends_.rows(); ++o) {
      ends_(o, 0) = known_ ? std::min(ends_(o, 0), y[o]) : y[o];
      ends_(o, 1) = known_ ? std::max(ends_(o, 1), y[o]) : y[o];
    }
    known_ = true;
  }
  Matrix ends() const { return known_ ? Matrix(ends_.transpose()) : Matrix(0, ends_.rows()); }

  // Least and largest prediction of an output.
  double least(Index o) const { return ends_(o, 0) - 0.5 * (ends_(o, 1) - ends_(o, 0)); }
  double largest(Index o) const { return ends_(o, 1) + 0.5 * (ends_(o, 1) - ends_(o, 0)); }
  // A prediction of an output, within both; as it is before the first target.
  double within(Index o, double value) const { return known_ ? std::clamp(value, least(o), largest(o)) : value; }
  // The same of rows of predictions.
  void bound(RowsOut out) const {
    for (Index o = 0; known_ && o < out.cols(); ++o) out.col(o) = out.col(o).cwiseMax(least(o)).cwiseMin(largest(o));
  }
  // Both, outputs x 2; no rows before the first target.
  Matrix bounds() const {
    Matrix out(known_ ? ends_.rows() : 0, 2);
    for (Index o = 0; o < out.rows(); ++o) out.row(o) << least(o), largest(o);
    return out;
  }

  void save(Arrays& arrays) const {
    if (known_) arrays.put("target_range", ends_);
  }
  void load(const Arrays& arrays) {
    known_ = arrays.items().count("target_range") > 0;
    if (known_) ends_ = arrays.get("target_range", ends_.rows(), 2);
  }

 private:
  Matrix ends_;  // outputs x 2
  bool known_ = false;
};

}  // namespace kernsift
