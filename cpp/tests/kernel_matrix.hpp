// Kernels, their matrices and lists of rows for the tests.
#pragma once

#include <numeric>
#include <vector>

#include "core/kernel/kernels.hpp"
#include "core/select/selectable_rows.hpp"

namespace check {

using namespace kernsift;

inline Kernel make(Index d, KernelKind kind = KernelKind::rbf) {
  return Kernel(kind, Vector::Constant(d, 0.4), 3, 1.0, Vector::Zero(d));
}

inline std::vector<Index> all(Index n) {
  std::vector<Index> which(n);
  std::iota(which.begin(), which.end(), Index{0});
  return which;
}

inline Matrix dense(const Kernel& kernel, const RowMatrix& A, const RowMatrix& B) {
  PreparedRows a, b;
  kernel.prepare(A, a);
  kernel.prepare(B, b);
  const Panels elements = elements_of(kernel, a);
  Matrix K(elements.padded(), B.rows());
  kernel.block(elements, b, 0, B.rows(), K);
  return K.topRows(A.rows());
}

inline double off(const Matrix& a, const Matrix& b) { return (a - b).cwiseAbs().maxCoeff(); }

}  // namespace check
