// A chain of Givens rotations of neighbouring coordinates (q, q + 1), q = first, first + 1, ...:
//   z_q <- c z_q + s z_{q+1},   z_{q+1} <- c z_{q+1} - s z_q.
// The chain that brings a deleted dictionary element last in the orthonormal basis; `KernelSpan::remove` makes it.
#pragma once

#include <vector>

#include "core/base/types.hpp"

namespace kernsift {

struct Rotation {
  double c, s;
  void apply(double& a, double& b) const {
    const double a_new = c * a + s * b;
    b = c * b - s * a;
    a = a_new;
  }
};

struct Rotations {
  Index first = 0;
  std::vector<Rotation> chain;

  // Rotates rows first + offset, ... of `M` (each column is a vector of coordinates).
  void rotate_rows(MatrixRef M, Index offset) const;
  // M <- G'M G: rows and columns of a square matrix.
  void rotate_both(MatrixRef M) const;
};

// z_0, z_1, ... z_steps of each of `columns` vectors, `stride` apart, by the chain of `steps` rotations. One vector is
// a recurrence that waits for itself; a packet of vectors, transposed in the registers, is not.
void rotate_columns(double* z, Index stride, Index columns, const Rotation* chain, Index steps);

}  // namespace kernsift
