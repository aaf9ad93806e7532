#include "core/symmetric_inverse.hpp"

namespace kernsift {

void SymmetricInverse::reserve(Index n) {
  if (storage_.rows() >= n) return;
  Matrix larger = Matrix::Zero(n, n);
  larger.topLeftCorner(size_, size_).triangularView<Eigen::Lower>() = storage_.topLeftCorner(size_, size_);
  storage_.swap(larger);
  scratch_.resize(n);
}

Matrix SymmetricInverse::dense() const { return view(); }

void SymmetricInverse::assign(const ConstMatrixRef& inverse) {
  size_ = 0;
  reserve(inverse.rows());
  size_ = inverse.rows();
  storage_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>() = inverse;
}

void SymmetricInverse::apply(const ConstVectorRef& x, VectorRef out) const {
  out.setZero();
  if (size_ > 0) out.noalias() += view() * x;
}

void SymmetricInverse::apply_block(const ConstMatrixRef& X, MatrixRef out) const {
  out.setZero();
  if (size_ > 0) out.noalias() += view() * X;
}

void SymmetricInverse::column(Index i, VectorRef out) const {
  out.head(i) = storage_.row(i).head(i).transpose();
  out.segment(i, size_ - i) = storage_.col(i).segment(i, size_ - i);
}

void SymmetricInverse::add_outer(const ConstVectorRef& u, double scale) {
  if (size_ > 0) lower().rankUpdate(u, scale);
}

void SymmetricInverse::add_outer_block(const ConstMatrixRef& U, double scale) {
  if (size_ > 0) lower().rankUpdate(U, scale);
}

void SymmetricInverse::append(const ConstVectorRef& column, double corner) {
  reserve(grown_capacity(storage_.rows(), size_ + 1));
  storage_.row(size_).head(size_) = column.transpose();
  storage_(size_, size_) = corner;
  ++size_;
}

void SymmetricInverse::border(const ConstVectorRef& w, double schur) {
  add_outer(w, 1.0 / schur);  // [JP 10]
  reserve(grown_capacity(storage_.rows(), size_ + 1));
  storage_.row(size_).head(size_) = -w.transpose() / schur;
  storage_(size_, size_) = 1.0 / schur;
  ++size_;
}

void SymmetricInverse::remove(Index i) {
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

// The left factor of the congruence on one column: the chain runs down from `row`.
void SymmetricInverse::rotate_down(Index column, Index row, Index offset, const Rotations& rotations) {
  const Index begin = row - offset - rotations.first;
  double* z = storage_.col(column).data() + row;
  const Index steps = static_cast<Index>(rotations.chain.size()) - begin;
  for (Index q = 0; q < steps; ++q) rotations.chain[begin + q].apply(z[q], z[q + 1]);
}

void SymmetricInverse::rotate(const Rotations& rotations, Index offset) {
  const Index first = rotations.first + offset;
  const Index steps = static_cast<Index>(rotations.chain.size());
  for (Index j = 0; j < first; ++j) rotate_down(j, first, offset, rotations);
  for (Index k = 0; k < steps; ++k) {
    const Rotation g = rotations.chain[k];
    const Index q = first + k;
    const Index below = size_ - q - 2;
    double* a = storage_.col(q).data() + q + 2;
    double* b = storage_.col(q + 1).data() + q + 2;
    for (Index r = 0; r < below; ++r) g.apply(a[r], b[r]);
    // the 2 x 2 block on the diagonal
    const double p = storage_(q, q), x = storage_(q + 1, q), r = storage_(q + 1, q + 1);
    storage_(q, q) = g.c * (g.c * p + g.s * x) + g.s * (g.c * x + g.s * r);
    storage_(q + 1, q) = g.c * (g.c * x - g.s * p) + g.s * (g.c * r - g.s * x);
    storage_(q + 1, q + 1) = g.c * (g.c * r - g.s * x) - g.s * (g.c * x - g.s * p);
    if (k + 1 < steps) rotate_down(q, q + 1, offset, rotations);  // column q has met both its own rotations
  }
}

}  // namespace kernsift
