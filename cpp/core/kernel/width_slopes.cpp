#include "core/kernel/width_slopes.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/base/parallel.hpp"
#include "core/kernel/gram.hpp"

namespace kernsift {

namespace {
constexpr Index kSlopeTile = 64;  // rows of a task
}

// The slope is minus the derivative by r2 = sum_j gamma_j |x_j - z_j|^p; that of r2 by gamma_j is |x_j - z_j|^p, taken
// of direct differences, so that nothing cancels.
Vector width_slopes(const Kernel& kernel, const Rows& X, const Rows& Z, const Rows& G, int threads) {
  const Index n = X.rows(), m = Z.rows(), d = X.cols(), tasks = (n + kSlopeTile - 1) / kSlopeTile;
  PreparedRows prepared;
  kernel.prepare(Z, prepared);
  const Panels elements = panels_of(prepared, 0, m, d);
  if (!kernel.warp().none())
    throw std::invalid_argument("a gradient with regard to gamma needs a kernel without a warp");
  const bool squares = kernel.row().sum == KernelSum::squares;
  Matrix parts = Matrix::Zero(d, std::max<Index>(tasks, 1));
  Matrix nothing(elements.padded(), 0);
  kernel.slope(elements, prepared, 0, 0, nothing);  // throws here rather than in a task
  parallel_for(tasks, threads, [&](Index task) {
    const Index first = task * kSlopeTile, count = std::min(kSlopeTile, n - first);
    PreparedRows rows;
    kernel.prepare(X.middleRows(first, count), rows);
    Matrix slope(elements.padded(), count);
    kernel.slope(elements, rows, 0, count, slope);
    auto part = parts.col(task).array();
    for (Index r = 0; r < count; ++r)
      for (Index i = 0; i < m; ++i) {
        const auto difference = (X.row(first + r) - Z.row(i)).transpose().array();
        const double scale = G(first + r, i) * slope(i, r);
        if (squares)
          part -= scale * difference.square();
        else
          part -= scale * difference.abs();
      }
  });
  return parts.rowwise().sum();
}

}  // namespace kernsift
