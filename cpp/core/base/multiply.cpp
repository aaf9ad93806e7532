#include "core/base/multiply.hpp"

namespace kernsift {

namespace {

template <class Layout, class Work>
void as_matrix(const Operand& m, const Work& work) {
  work(Eigen::Map<const Layout, 0, Eigen::OuterStride<>>(m.data, m.rows, m.cols, Eigen::OuterStride<>(m.stride)));
}

// Calls work(matrix) with what Eigen knows of the operand's layout.
template <class Work>
void with_layout(const Operand& m, const Work& work) {
  return m.by_rows ? as_matrix<RowMatrix>(m, work) : as_matrix<Matrix>(m, work);
}

}  // namespace

void multiply(const Operand& A, const Operand& B, MatrixRef out) {
  with_layout(A, [&](const auto& a) { with_layout(B, [&](const auto& b) { out.noalias() = a * b; }); });
}

void add_product(double scale, const Operand& A, const Operand& B, MatrixRef out) {
  with_layout(A, [&](const auto& a) { with_layout(B, [&](const auto& b) { out.noalias() += scale * a * b; }); });
}

}  // namespace kernsift
