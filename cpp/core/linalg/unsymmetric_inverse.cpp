#include "core/linalg/unsymmetric_inverse.hpp"

namespace kernsift {

void UnsymmetricInverse::reserve(Index n) {
  if (storage_.rows() >= n) return;
  Matrix larger = Matrix::Zero(n, n);
  larger.topLeftCorner(size_, size_) = view();
  storage_.swap(larger);
  column_.resize(n);
  row_.resize(n);
}

void UnsymmetricInverse::assign(const ConstMatrixRef& inverse) {
  size_ = 0;
  reserve(inverse.rows());
  size_ = inverse.rows();
  storage_.topLeftCorner(size_, size_) = inverse;
}

void UnsymmetricInverse::apply(const ConstVectorRef& x, VectorRef out) const {
  out.setZero();
  if (size_ > 0) out.noalias() += view() * x;
}

void UnsymmetricInverse::apply_transposed(const ConstVectorRef& x, VectorRef out) const {
  out.setZero();
  if (size_ > 0) out.noalias() += view().transpose() * x;
}

void UnsymmetricInverse::add_outer(const ConstVectorRef& u, const ConstVectorRef& v, double scale) {
  for (Index j = 0; j < size_; ++j) storage_.col(j).head(size_) += (scale * v[j]) * u;
}

void UnsymmetricInverse::border(const ConstVectorRef& u, const ConstVectorRef& v, double schur) {
  reserve(grown_capacity(storage_.rows(), size_ + 1));
  add_outer(u, v, 1.0 / schur);  // [LSTD grow]
  storage_.col(size_).head(size_) = -u / schur;
  storage_.row(size_).head(size_) = -v.transpose() / schur;
  storage_(size_, size_) = 1.0 / schur;
  ++size_;
}

void UnsymmetricInverse::remove(Index i) {
  const Index m = size_;
  auto u = column_.head(m);
  auto v = row_.head(m);
  u = storage_.col(i).head(m);
  v = storage_.row(i).head(m).transpose();
  add_outer(u, v, -1.0 / u[i]);  // [LSTD prune]
  for (Index j = i; j + 1 < m; ++j) storage_.col(j).head(m) = storage_.col(j + 1).head(m);
  for (Index j = 0; j + 1 < m; ++j)
    for (Index r = i; r + 1 < m; ++r) storage_(r, j) = storage_(r + 1, j);
  --size_;
}

void UnsymmetricInverse::rotate(const Rotations& rotations) {
  rotations.rotate_both(storage_.topLeftCorner(size_, size_));
}

void UnsymmetricInverse::fade(double memory, double prior) {
  auto inverse = storage_.topLeftCorner(size_, size_);
  inverse *= memory;
  inverse.diagonal().array() += (1.0 - memory) * prior;
}

}  // namespace kernsift
