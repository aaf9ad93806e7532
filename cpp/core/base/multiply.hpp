// Products of two matrices of doubles, compiled once. Each form that is written with Eigen's operators instead is
// compiled where it stands: a tenth of a second and several kilobytes.
#pragma once

#include <utility>

#include "core/base/types.hpp"

namespace kernsift {

// A factor of a product: a matrix, a block of one or a transpose of either, its columns or its rows contiguous.
struct Operand {
  template <class Derived>
  Operand(const Eigen::MatrixBase<Derived>& matrix)  // implicit: a factor is handed over as it is
      : data(matrix.derived().data()),
        rows(matrix.rows()),
        cols(matrix.cols()),
        stride(matrix.derived().outerStride()),
        by_rows(Derived::IsRowMajor) {
    static_assert(Derived::InnerStrideAtCompileTime == 1, "the elements of a column, or of a row, are neighbours");
  }

  Operand transpose() const {
    Operand other = *this;
    std::swap(other.rows, other.cols);
    other.by_rows = !by_rows;
    return other;
  }

  const double* data;
  Index rows, cols, stride;
  bool by_rows;
};

// out = A B; out shares no memory with A or B.
void multiply(const Operand& A, const Operand& B, MatrixRef out);
inline void multiply(const Operand& A, const Operand& B, RowsOut out) {
  multiply(B.transpose(), A.transpose(), MatrixRef(out.transpose()));
}

// out += scale A B, with the same condition.
void add_product(double scale, const Operand& A, const Operand& B, MatrixRef out);
inline void add_product(double scale, const Operand& A, const Operand& B, RowsOut out) {
  add_product(scale, B.transpose(), A.transpose(), MatrixRef(out.transpose()));
}

inline Matrix product(const Operand& A, const Operand& B) {
  Matrix out(A.rows, B.cols);
  multiply(A, B, out);
  return out;
}

}  // namespace kernsift
