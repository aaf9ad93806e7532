// The dictionary: the samples whose kernels span the model, in the order they were admitted.
//
// Invariants: vectors(), ids(), self() and panels() describe the same elements in the same order; ids are the row
// numbers of the elements in the stream and ascend, because elements are admitted in time order and removing one
// moves the later ones up.
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"

namespace kernsift {

class Dictionary {
 public:
  explicit Dictionary(Kernel kernel)
      : kernel_(std::move(kernel)), panels_(kernel_.n_features()), vectors_(0, kernel_.n_features()) {}

  Index size() const { return panels_.size(); }
  Index padded() const { return panels_.padded(); }
  const Kernel& kernel() const { return kernel_; }
  const Panels& panels() const { return panels_; }
  const std::vector<std::int64_t>& ids() const { return ids_; }
  double self(Index i) const { return kernel_.self(panels_.norm(i)); }  // k(x_i, x_i)
  double largest_self() const { return largest_self_; }                 // of all elements there ever were
  Rows vectors() const { return vectors_.topRows(size()); }

  void reserve(Index n);

  // `x` is the sample as given, `rows`/`row` the same sample prepared.
  void append(const double* x, const PreparedRows& rows, Index row, std::int64_t id);
  void remove(Index i);

  // sum_i a_i^2 k(x_i, x_i): the squared coefficients of a projection, in units of the kernel.
  double weighted_squares(const ConstVectorRef& a) const;

  // k(element i, row first + r) for all elements; `out` has padded() rows.
  void block(const PreparedRows& rows, Index first, Index count, MatrixRef out) const {
    kernel_.block(panels_, rows, first, count, out);
  }

 private:
  Kernel kernel_;
  Panels panels_;
  RowMatrix vectors_;  // capacity x d
  std::vector<std::int64_t> ids_;
  double largest_self_ = 0;
};

}  // namespace kernsift
