#include "core/linalg/pivoted_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kernsift {

namespace {

constexpr Index kPivotBlock = 64;

// Exchanges rows and columns i < p of a symmetric matrix of which the lower triangle is stored; the finished
// columns before i move with them.
void exchange(MatrixRef A, Index i, Index p) {
  const Index n = A.rows();
  std::swap(A(i, i), A(p, p));
  A.row(i).head(i).swap(A.row(p).head(i));
  for (Index k = i + 1; k < p; ++k) std::swap(A(k, i), A(p, k));
  A.col(i).segment(p + 1, n - p - 1).swap(A.col(p).segment(p + 1, n - p - 1));
}

}  // namespace

Index pivoted_cholesky(MatrixRef A, double floor, std::vector<Index>& order) {
  const Index n = A.rows();
  order.resize(n);
  std::iota(order.begin(), order.end(), Index{0});
  Vector left = A.diagonal();  // diagonal of the residual
  for (Index first = 0; first < n; first += kPivotBlock) {
    const Index end = std::min(n, first + kPivotBlock);
    for (Index j = first; j < end; ++j) {
      Index p = j;
      for (Index i = j + 1; i < n; ++i)
        if (left[i] > left[p]) p = i;
      if (!(left[p] > floor)) return j;
      if (p != j) {
        exchange(A, j, p);
        std::swap(left[j], left[p]);
        std::swap(order[j], order[p]);
      }
      const Index below = n - j - 1, done = j - first;  // columns of this block not yet taken off the trailing matrix
      const double s = std::sqrt(left[j]);
      A(j, j) = s;
      auto column = A.col(j).tail(below);
      column.noalias() -= A.block(j + 1, first, below, done) * A.row(j).segment(first, done).transpose();
      column /= s;
      left.tail(below).array() -= column.array().square();
    }
    const Index rest = n - end;
    A.bottomRightCorner(rest, rest)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(A.block(end, first, rest, end - first), -1.0);
  }
  return n;
}

}  // namespace kernsift
