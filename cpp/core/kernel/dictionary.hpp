// The dictionary: the samples whose kernels span the model, in the order they were admitted.
//
// Invariants: vectors(), ids(), self() and panels() describe the same elements in the same order; ids are the row
// numbers of the elements in the stream and ascend, because elements are admitted in time order and removing one
// moves the later ones up.
#pragma once

#include <functional>
#include <vector>

#include "core/base/arrays.hpp"
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

  // out(r, o) = intercept(o) + sum_i coef(i, o) k(element i, row r of X), on up to `threads` threads with the same
  // result for any number of them. `coef` has padded() rows, zero in the padding.
  void expand(const ConstMatrixRef& coef, const ConstVectorRef& intercept, const Rows& X, RowsOut out,
              Index threads) const;
  // work(K, k_self, first) for tiles of the rows of X, on up to `threads` threads: K(i, r) = k(element i, row first +
  // r) with padded() rows, which may be overwritten, and k_self(r) = k(x, x).
  using Tile = std::function<void(MatrixRef K, const ConstVectorRef& k_self, Index first)>;
  void tiles(const Rows& X, Index threads, const Tile& work) const;

  // As arrays "basis" and "ids"; `load` replaces all elements.
  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

 private:
  template <class Work>
  void by_parts(Index n, Index threads, const Work& work) const;
  Kernel kernel_;
  Panels panels_;
  RowMatrix vectors_;  // capacity x d
  std::vector<std::int64_t> ids_;
  double largest_self_ = 0;
};

}  // namespace kernsift
