#include "core/linalg/symmetric_inverse.hpp"

#include <algorithm>

namespace kernsift {

void SymmetricInverse::reserve(Index n) {
  if (storage_.rows() >= n) return;
  n = whole_packets(n);
  Matrix larger = Matrix::Zero(n, n);
  larger.topLeftCorner(size_, size_).triangularView<Eigen::Lower>() = storage_.topLeftCorner(size_, size_);
  storage_.swap(larger);
  scratch_.resize(n);
  owed_.conservativeResize(n, kMostOwed);
}

Matrix SymmetricInverse::dense() const {
  assert(n_owed_ == 0);
  return view();
}

void SymmetricInverse::assign(const ConstMatrixRef& inverse) {
  size_ = n_owed_ = 0;
  reserve(inverse.rows());
  size_ = inverse.rows();
  storage_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>() = inverse;
}

void SymmetricInverse::apply(const ConstVectorRef& x, VectorRef out) const {
  assert(n_owed_ == 0);
  apply_lower(storage_.topLeftCorner(size_, size_), x, out);
}

void SymmetricInverse::owe_outer(const ConstVectorRef& u, double scale) {
  if (n_owed_ == kMostOwed) settle();
  owed_.col(n_owed_).head(size_) = u;
  owed_scales_[n_owed_++] = scale;
}

void SymmetricInverse::apply_settled(const ConstVectorRef& x, VectorRef out) {
  if (n_owed_ == 0) return apply(x, out);
  update_and_apply(storage_.topLeftCorner(size_, size_), owed_.topLeftCorner(size_, n_owed_), owed_scales_, x, out);
  n_owed_ = 0;
}

void SymmetricInverse::settle() {
  if (n_owed_ == 0) return;
  // by the same instructions as with a product, so that reading the model in between changes no bit of it
  apply_settled(owed_.col(0).head(size_), scratch_.head(size_));
}

void SymmetricInverse::apply_block(const ConstMatrixRef& X, MatrixRef out) const {
  assert(n_owed_ == 0);
  out.setZero();
  if (size_ > 0) out.noalias() += view() * X;
}

void SymmetricInverse::column(Index i, VectorRef out) const {
  out.head(i) = storage_.row(i).head(i).transpose();
  out.segment(i, size_ - i) = storage_.col(i).segment(i, size_ - i);
  for (Index r = 0; r < n_owed_; ++r) out += (owed_scales_[r] * owed_(i, r)) * owed_.col(r).head(size_);
}

void SymmetricInverse::add_outer(const ConstVectorRef& u, double scale) {
  if (size_ > 0) lower().rankUpdate(u, scale);
}

void SymmetricInverse::add_outer_block(const ConstMatrixRef& U, double scale) {
  if (size_ > 0) lower().rankUpdate(U, scale);
}

void SymmetricInverse::add(const SymmetricInverse& other) {
  for (Index j = 0; j < size_; ++j)
    storage_.col(j).segment(j, size_ - j) += other.storage_.col(j).segment(j, size_ - j);
}

void SymmetricInverse::append(const ConstVectorRef& column, double corner, double unit) {
  reserve(grown_capacity(storage_.rows(), size_ + 1));
  storage_.row(size_).head(size_) = column.transpose() / unit;
  storage_(size_, size_) = corner;
  owed_.row(size_).setZero();
  ++size_;
}

void SymmetricInverse::border(const ConstVectorRef& w, double schur) {
  settle();
  add_outer(w, 1.0 / schur);  // [JP 10]
  reserve(grown_capacity(storage_.rows(), size_ + 1));
  storage_.row(size_).head(size_) = -w.transpose() / schur;
  storage_(size_, size_) = 1.0 / schur;
  ++size_;
}

void SymmetricInverse::remove(Index i) {
  settle();
  const Index m = size_;
  auto u = scratch_.head(m);
  column(i, u);
  add_outer(u, -1.0 / u[i]);  // [JP 17]: the vector is [u; u*], not the printed [u; -1]
  for (Index j = 0; j < i; ++j)
    for (Index r = i; r + 1 < m; ++r) storage_(r, j) = storage_(r + 1, j);
  for (Index j = i; j + 1 < m; ++j)
    storage_.col(j).segment(j, m - 1 - j) = storage_.col(j + 1).segment(j + 1, m - 1 - j);
  --size_;
}

void SymmetricInverse::owe_remove_last(double shift) {
  if (n_owed_ == kMostOwed) settle();
  auto u = scratch_.head(size_);
  column(size_ - 1, u);
  --size_;
  owe_outer(u.head(size_), -1.0 / (u[size_] + shift));
}

void SymmetricInverse::rescale(double scale, double diagonal) {
  assert(n_owed_ == 0);
  for (Index j = 0; j < size_; ++j) {
    storage_.col(j).segment(j, size_ - j) *= scale;
    storage_(j, j) += diagonal;
  }
}

void SymmetricInverse::drop_last() {
  settle();
  --size_;
}

// The congruence from the right (columns, below the diagonal) and on the diagonal, rotation by rotation; then from the
// left: what is above row q of a column has met all of its rotations, so column q waits for those behind q only.
void SymmetricInverse::rotate(const Rotations& rotations, Index offset) {
  rotations.rotate_rows(owed_.topLeftCorner(size_, n_owed_), offset);
  const Index first = rotations.first + offset, stride = storage_.outerStride();
  const Index steps = static_cast<Index>(rotations.chain.size());
  const Rotation* chain = rotations.chain.data();
  for (Index k = 0; k < steps; ++k) {
    const Rotation g = chain[k];
    const Index q = first + k, below = size_ - q - 2;
    double* a = storage_.col(q).data() + q + 2;
    double* b = storage_.col(q + 1).data() + q + 2;
    for (Index row = 0; row < below; ++row) g.apply(a[row], b[row]);
    // the 2 x 2 block on the diagonal
    const double p = storage_(q, q), x = storage_(q + 1, q), r = storage_(q + 1, q + 1);
    storage_(q, q) = g.c * (g.c * p + g.s * x) + g.s * (g.c * x + g.s * r);
    storage_(q + 1, q) = g.c * (g.c * x - g.s * p) + g.s * (g.c * r - g.s * x);
    storage_(q + 1, q + 1) = g.c * (g.c * r - g.s * x) - g.s * (g.c * x - g.s * p);
  }
  double* z = storage_.data() + first;
  rotate_columns(z, stride, first, chain, steps);
  constexpr Index kTogether = 8;  // columns brought to the same row, so that a packet of them can go on
  for (Index k = 0; k < steps; k += kTogether) {
    const Index columns = std::min(kTogether, steps - k), from = k + columns;
    for (Index c = 0; c < columns; ++c) {
      double* column = storage_.col(first + k + c).data() + first;
      for (Index q = k + c + 1; q < from; ++q) chain[q].apply(column[q], column[q + 1]);
    }
    rotate_columns(storage_.col(first + k).data() + first + from, stride, columns, chain + from, steps - from);
  }
}

}  // namespace kernsift
