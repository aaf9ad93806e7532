// A symmetric inverse B^-1 kept current while B gains rows of data, a row and column, or loses one.
//
// Only the lower triangle is stored, which makes the matrix exactly symmetric by construction.
// Invariant: entries above the diagonal are never read. While changes are pending, the readers may not be called:
// `settle` first.
#pragma once

#include <cassert>

#include "core/base/types.hpp"
#include "core/linalg/rotations.hpp"
#include "core/simd/triangle_passes.hpp"

namespace kernsift {

class SymmetricInverse {
 public:
  Index size() const { return size_; }
  void reserve(Index n);

  double operator()(Index i, Index j) const {
    assert(n_owed_ == 0);
    return i >= j ? storage_(i, j) : storage_(j, i);
  }
  auto diagonal() const {
    assert(n_owed_ == 0);
    return storage_.diagonal().head(size_);
  }
  // Entry (i, i), pending changes included.
  double settled_diagonal(Index i) const {
    double value = storage_(i, i);
    for (Index r = 0; r < n_owed_; ++r) value += owed_scales_[r] * owed_(i, r) * owed_(i, r);
    return value;
  }
  auto view() const { return storage_.topLeftCorner(size_, size_).selfadjointView<Eigen::Lower>(); }
  Matrix dense() const;
  void assign(const ConstMatrixRef& inverse);  // reads the lower triangle

  // out = B^-1 x.
  void apply(const ConstVectorRef& x, VectorRef out) const;
  void apply_block(const ConstMatrixRef& X, MatrixRef out) const;
  // out = column i of B^-1.
  void column(Index i, VectorRef out) const;

  // B^-1 <- B^-1 + scale u u'. With u = B^-1 b and scale = -1/(1 + b'u): B <- B + b b' [JP 9].
  void add_outer(const ConstVectorRef& u, double scale);
  // The same, applied when the next product reads the matrix anyway: one pass over it instead of two. The pending
  // changes of a removal are applied with it: rotations turn the pending vectors along with the matrix.
  void owe_outer(const ConstVectorRef& u, double scale);
  void apply_settled(const ConstVectorRef& x, VectorRef out);
  void settle();
  // B^-1 <- B^-1 + scale U U': the same for many columns at once.
  void add_outer_block(const ConstMatrixRef& U, double scale);

  // B^-1 <- scale B^-1 + diagonal I, settled.
  void rescale(double scale, double diagonal);
  // The sum of two matrices of the same size.
  void add(const SymmetricInverse& other);

  // B^-1 <- [B^-1, column / unit; column' / unit, corner], entries given.
  void append(const ConstVectorRef& column, double corner, double unit = 1);
  // B <- [B b; b' b*] with w = B^-1 b and Schur complement schur = b* - b'w [JP 10].
  void border(const ConstVectorRef& w, double schur);
  // B loses row and column i [JP 17]; later ones move up.
  void remove(Index i);
  // The matrix being what is stored plus `shift` times the identity.
  void owe_remove_last(double shift = 0);
  // The inverse itself loses its last row and column.
  void drop_last();

  // B^-1 <- G' B^-1 G for a chain of rotations of the coordinates offset + first, ...
  void rotate(const Rotations& rotations, Index offset);

 private:
  auto lower() { return storage_.topLeftCorner(size_, size_).selfadjointView<Eigen::Lower>(); }
  Matrix storage_;  // capacity x capacity
  Vector scratch_;
  Matrix owed_;  // capacity x kMostOwed: the matrix is what is stored + sum_r owed_scales_[r] u_r u_r', its columns
  double owed_scales_[kMostOwed] = {};
  Index n_owed_ = 0;
  Index size_ = 0;
};

}  // namespace kernsift
