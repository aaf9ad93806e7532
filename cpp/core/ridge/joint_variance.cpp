#include "core/ridge/joint_variance.hpp"

#include <algorithm>

#include "core/kernel/gram.hpp"

namespace kernsift {

void add_beyond_span(const Kernel& kernel, const Rows& X, const ConstMatrixRef& W, double alpha, MatrixRef out) {
  const Index n = X.rows();
  PreparedRows rows;
  kernel.prepare(X, rows);
  Matrix beyond;
  gram_lower(kernel, rows, beyond);
  beyond.topLeftCorner(n, n).selfadjointView<Eigen::Lower>().rankUpdate(W.transpose(), -1.0);
  for (Index i = 0; i < n; ++i) beyond(i, i) = std::max(beyond(i, i), 0.0);
  out.triangularView<Eigen::Lower>() += beyond.topLeftCorner(n, n) / alpha;  // [MATH 1.9]
  mirror_lower(out);
}

void mirror_lower(MatrixRef out) {
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose().triangularView<Eigen::StrictlyUpper>();
}

}  // namespace kernsift
