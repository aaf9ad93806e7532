// The last rows of a stream as they came, for whoever begins it again from them with another kernel.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"

namespace kernsift {

class KeptRows {
 public:
  KeptRows(Index capacity, Index n_features, Index n_outputs)
      : capacity_(capacity), n_features_(n_features), n_outputs_(n_outputs), rows_(0, width()) {}

  Index size() const { return size_; }

  // The oldest row makes room.
  void keep(const double* x, const double* y, double v) {
    if (capacity_ == 0) return;
    if (size_ < capacity_ && size_ == rows_.rows())
      rows_.conservativeResize(std::min(capacity_, grown_capacity(size_, size_ + 1)), Eigen::NoChange);
    auto row = rows_.row(next_);
    std::copy_n(x, n_features_, row.data());
    std::copy_n(y, n_outputs_, row.data() + n_features_);
    row[width() - 1] = v;
    next_ = next_ + 1 == capacity_ ? 0 : next_ + 1;
    size_ = std::min(size_ + 1, capacity_);
  }
  void keep(const Rows& X, const Rows& Y, const ConstVectorRef& v) {
    for (Index i = std::max<Index>(0, X.rows() - capacity_); i < X.rows(); ++i)
      keep(X.row(i).data(), Y.row(i).data(), v[i]);
  }

  // Features, targets and weight of each, in the order in which they came.
  RowMatrix in_order() const {
    RowMatrix out(size_, width());
    const Index oldest = size_ < capacity_ ? 0 : next_;
    out.topRows(size_ - oldest) = rows_.middleRows(oldest, size_ - oldest);
    out.bottomRows(oldest) = rows_.topRows(oldest);
    return out;
  }

  void save(Arrays& arrays) const {
    if (capacity_ > 0) arrays.put("kept_rows", Matrix(in_order()));
  }
  void load(const Arrays& arrays) {
    if (capacity_ == 0) return;
    const Matrix& table = arrays.get("kept_rows", std::min(capacity_, arrays.get("kept_rows").rows()), width());
    if (table.rows() > 0 && !(table.col(width() - 1).minCoeff() >= 0))
      throw std::invalid_argument("state array 'kept_rows' has a negative weight");
    rows_ = table;
    size_ = table.rows();
    next_ = size_ == capacity_ ? 0 : size_;
  }

 private:
  Index width() const { return n_features_ + n_outputs_ + 1; }
  Index capacity_, n_features_, n_outputs_, size_ = 0, next_ = 0;
  RowMatrix rows_;  // as many as there is room for so far
};

}  // namespace kernsift
