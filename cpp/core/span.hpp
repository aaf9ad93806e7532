// An orthonormal basis of the span of the dictionary: L lower triangular with K_mm = L L', and the coordinates
// w(x) = L^-1 k_m(x) of phi(x) in it (MATH 1.2). |w|^2 is the squared norm of the projection.
//
// Invariants: L has a positive diagonal; L L' is the kernel matrix of the dictionary, in its order.
#pragma once

#include "core/rotations.hpp"
#include "core/types.hpp"

namespace kernsift {

class Span {
 public:
  // Of `is_resolved`: some 50 roundings, for ordered streams of all kernels (tests/test_ordered_streams.py).
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

  // L^-1 as a dense lower triangle, and the state from a factor (for save and load).
  Matrix inverse_factor() const;
  void assign(const ConstMatrixRef& L);

 private:
  Matrix storage_;  // capacity x capacity
  Index size_ = 0;
};

}  // namespace kernsift
