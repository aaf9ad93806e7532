// An orthonormal basis of the span of the dictionary: L lower triangular with K_mm = L L', and the coordinates
// w(x) = L^-1 k_m(x) of phi(x) in it (MATH 1.2). |w|^2 is the squared norm of the projection.
//
// Invariants: L has a positive diagonal; L L' is the kernel matrix of the dictionary, in its order.
#pragma once

#include <limits>

#include "core/base/types.hpp"
#include "core/linalg/rotations.hpp"

namespace kernsift {

class KernelSpan {
 public:
  // Of `is_resolved`: some 50 roundings, for ordered streams of all kernels (tests/stream/test_ordered_streams.py).
  static constexpr double kResolution = 1e-14;

  Index size() const { return size_; }
  void reserve(Index n);
  auto block() const { return storage_.topLeftCorner(size_, size_); }  // L, zero above the diagonal
  auto factor() const { return storage_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>(); }

  // K <- L^-1 K: kernel columns k_m(x) into coordinates w(x). In place, any number of columns.
  void coordinates(MatrixRef K) const;
  // W <- L^-T W: from coordinates to coefficients of the kernels (a = L^-T w, beta = L^-T theta, ...). In place.
  void coefficients(MatrixRef W) const;

  // A new element with coordinates w in the old basis and distance s > 0 from it: L <- [L 0; w' s].
  void append(const ConstVectorRef& w, double s);

  // Deletes element i: row i of L goes, and the rotations that make the rest triangular again are left in
  // `rotations` for everything that is expressed in this basis. After them the last coordinate is the direction
  // that has left the span.
  void remove(Index i, Rotations& rotations);

  // Estimate of the largest eigenvalue of K^-1, by a vector that follows the growth of L (Bischof 1990): a lower bound,
  // within a factor of 10 on the streams of tests/stream/test_ordered_streams.py. Infinite once an element was deleted.
  double inverse_norm() const { return thin_known_ ? thin_.head(size_).squaredNorm() : kInfinity; }

  // L^-1 as a dense lower triangle, and the state from a factor (for save and load).
  Matrix inverse_factor() const;
  void assign(const ConstMatrixRef& L);

 private:
  void follow_inverse(const ConstVectorRef& w, double s);
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Matrix storage_;  // capacity x capacity
  Vector thin_;     // L^-1 d, for a unit vector d that makes it long
  bool thin_known_ = true;
  Index size_ = 0;
};

}  // namespace kernsift
