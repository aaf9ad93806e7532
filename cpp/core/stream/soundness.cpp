#include "core/stream/soundness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/multiply.hpp"
#include "core/kernel/gram.hpp"
#include "core/linalg/symmetric_eigen.hpp"

namespace kernsift {

namespace {

Matrix kernel_matrix(const Kernel& kernel, const Matrix& vectors) {
  const RowMatrix rows = vectors;
  PreparedRows prepared;
  kernel.prepare(rows, prepared);
  Matrix storage;
  gram_lower(kernel, prepared, storage);
  return storage.topRows(vectors.rows()).selfadjointView<Eigen::Lower>();
}

double largest_of(const Matrix& A) { return A.size() > 0 ? A.cwiseAbs().maxCoeff() : 0.0; }

Vector eigenvalues(const Matrix& A) { return SymmetricEigen(0.5 * (A + A.transpose()), false).eigenvalues(); }

void look_at_kernels(const Arrays& state, const Matrix& K, Soundness& found) {
  const Index m = K.rows();
  const Vector sizes = eigenvalues(K).cwiseAbs();
  found.kernel_condition = sizes.maxCoeff() / sizes.minCoeff();
  Vector diagonal;  // of K^-1
  if (state.items().count("kernel_inverse") > 0) {
    const Matrix& inverse = state.get("kernel_inverse");
    found.kernel_error = largest_of(product(inverse, K) - Matrix::Identity(m, m));
    diagonal = inverse.diagonal();
  } else {
    const Matrix L = state.get("factor").triangularView<Eigen::Lower>();
    found.kernel_error = largest_of(product(L, L.transpose()) - K) / largest_of(K);
    const Matrix inverse = L.triangularView<Eigen::Lower>().solve(Matrix::Identity(m, m));
    diagonal = inverse.colwise().squaredNorm();
  }
  found.distance_error = std::numeric_limits<double>::epsilon() * K.diagonal().dot(diagonal);
}

// C of one memory, as FadingInverse keeps it.
void look_at_inverse(const Arrays& memory, bool first, Index kernels, Soundness& found) {
  Matrix C = memory.get("inverse");
  if (C.size() == 0) return;
  C.diagonal().array() += memory.number("inverse_shift", 0.0);
  C *= memory.number("inverse_scale", 1.0);
  found.asymmetry = std::max(found.asymmetry, largest_of(C - C.transpose()) / largest_of(C));
  const Vector values = eigenvalues(C);
  found.smallest = first ? values.minCoeff() : std::min(found.smallest, values.minCoeff());
  found.largest = first ? values.maxCoeff() : std::max(found.largest, values.maxCoeff());
  // The constant, if it has no ridge, comes first.
  if (kernels > 0) found.largest_along = std::max(found.largest_along, C.diagonal().tail(kernels).maxCoeff());
}

}  // namespace

Soundness soundness(const Arrays& state, const Kernel& kernel) {
  Soundness found;
  for (const auto& [name, values] : state.items())
    if (!values.allFinite()) found.not_finite.push_back(name);
  found.counted = state.get("counters").sum();
  found.seen = state.number("rows_seen") - state.number("first_row", 0);
  if (!found.not_finite.empty()) return found;
  const Matrix& vectors = state.get("basis");
  const Index m = vectors.rows();
  if (m > 0) look_at_kernels(state, kernel_matrix(kernel, vectors), found);
  for (std::size_t k = 0; k < state.parts("inverse"); ++k) {
    const Arrays memory = state.of(k);
    look_at_inverse(memory, k == 0, m, found);
    const Matrix& cost = memory.get("cost");
    if (cost.size() > 0) found.least_cost = std::min(found.least_cost, cost.minCoeff());
  }
  return found;
}

}  // namespace kernsift
