#include "core/kernel/kernel_span.hpp"

#include <algorithm>
#include <cmath>

#include "core/simd/triangle_passes.hpp"

namespace kernsift {

void KernelSpan::reserve(Index n) {
  if (storage_.rows() >= n) return;
  Matrix larger = Matrix::Zero(whole_packets(n), whole_packets(n));
  larger.topLeftCorner(size_, size_) = storage_.topLeftCorner(size_, size_);
  storage_.swap(larger);
  thin_.conservativeResize(storage_.rows());
}

void KernelSpan::coordinates(MatrixRef K) const { forward_substitute(block(), K); }

void KernelSpan::coefficients(MatrixRef W) const {
  if (W.cols() <= kFewColumns) return back_substitute(block(), W);
  const auto L = factor();
  L.transpose().solveInPlace(W);
}

void KernelSpan::append(const ConstVectorRef& w, double s) {
  reserve(grown_capacity(storage_.rows(), size_ + 1));
  follow_inverse(w, s);
  storage_.row(size_).head(size_) = w.transpose();  // [MATH 1.5]
  storage_(size_, size_) = s;
  ++size_;
}

// With y = L^-1 d, the longest of [p y; (q - p w'y) / s] for p^2 + q^2 = 1: the larger eigenvector of a 2 x 2 matrix.
void KernelSpan::follow_inverse(const ConstVectorRef& w, double s) {
  if (!thin_known_) return;
  auto y = thin_.head(size_);
  const double t = w.dot(y) / s, a = y.squaredNorm() + t * t, b = -t / s, c = 1.0 / (s * s);
  const double half = 0.5 * (a - c), root = std::hypot(half, b);
  double p = half > 0 ? half + root : b, q = half > 0 ? b : root - half;
  const double norm = std::hypot(p, q);
  p = norm > 0 ? p / norm : 0.0;
  q = norm > 0 ? q / norm : 1.0;
  y *= p;
  thin_[size_] = q / s - p * t;
}

void KernelSpan::remove(Index i, Rotations& rotations) {
  const Index m = size_;
  thin_known_ = false;
  rotations.first = i;
  rotations.chain.clear();
  for (Index c = 0; c < i; ++c) {  // rows below i move up
    double* z = storage_.col(c).data();
    std::copy(z + i + 1, z + m, z + i);
  }
  for (Index q = i; q + 1 < m; ++q) {  // those of column q when it is rotated; column q + 1 waits for its turn
    double* a = storage_.col(q).data() + q + 1;
    double* b = storage_.col(q + 1).data() + q + 1;
    const double r = std::hypot(a[0], b[0]);
    const Rotation g{a[0] / r, b[0] / r};
    rotations.chain.push_back(g);
    a[-1] = r;
    for (Index row = 1; row < m - q - 1; ++row) {
      const double old = a[row];
      a[row - 1] = g.c * old + g.s * b[row];
      b[row] = g.c * b[row] - g.s * old;
    }
  }
  --size_;
  storage_.col(size_).head(m).setZero();
  storage_.row(size_).head(m).setZero();
}

Matrix KernelSpan::inverse_factor() const {
  Matrix inverse = Matrix::Identity(size_, size_);
  coordinates(inverse);
  return inverse;
}

void KernelSpan::assign(const ConstMatrixRef& L) {
  size_ = 0;
  reserve(L.rows());
  storage_.setZero();
  size_ = L.rows();
  thin_known_ = size_ == 0;
  storage_.topLeftCorner(size_, size_) = L.triangularView<Eigen::Lower>();
}

}  // namespace kernsift
