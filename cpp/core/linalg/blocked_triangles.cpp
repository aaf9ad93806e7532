#include "core/linalg/blocked_triangles.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "core/base/interrupt.hpp"
#include "core/base/multiply.hpp"
#include "core/base/parallel.hpp"

namespace kernsift {

namespace {

constexpr Index kBlock = 128;      // columns of a step
constexpr Index kStripe = 256;     // columns of a task: every one reads the rows of the other factor again
constexpr Index kSmall = 1024;     // size of a matrix that is one task
constexpr Index kRightSides = 64;  // right-hand sides of a task
constexpr Index kPart = 512;       // rows of a task

constexpr Index parts_of(Index n, Index size) { return (n + size - 1) / size; }

// work(first, count) for [0, n) in pieces of `size`.
template <class Work>
void in_parts(Index n, Index size, int threads, const Work& work) {
  parallel_for(parts_of(n, size), threads, [&](Index i) { work(i * size, std::min(size, n - i * size)); });
}

// The lower triangle of A in stripes of columns: corner(first, out) for the triangle on top of each, and
// rest(first row, first column, out) for what is below.
template <class Corner, class Rest>
void in_stripes(MatrixRef A, int threads, const Corner& corner, const Rest& rest) {
  const Index n = A.rows();
  in_parts(n, n < kSmall ? kSmall : kStripe, threads, [&](Index first, Index count) {
    corner(first, A.block(first, first, count, count));
    const Index below = first + count;
    if (below < n) rest(below, first, A.block(below, first, n - below, count));
  });
}

}  // namespace

void add_outer(const ConstMatrixRef& W, double scale, int threads, MatrixRef A) {
  in_stripes(
      A, threads,
      [&](Index row, MatrixRef out) {
        out.selfadjointView<Eigen::Lower>().rankUpdate(W.middleRows(row, out.rows()), scale);
      },
      [&](Index row, Index column, MatrixRef out) {
        add_product(scale, W.middleRows(row, out.rows()), W.middleRows(column, out.cols()).transpose(), out);
      });
}

void solve_columns(const Rows& L, int threads, MatrixRef K) {
  in_parts(K.cols(), kRightSides, threads, [&](Index first, Index count) {
    auto columns = K.middleCols(first, count);
    L.triangularView<Eigen::Lower>().solveInPlace(columns);
  });
}

bool cholesky(MatrixRef A, int threads) {
  const Index n = A.rows();
  for (Index k = 0; k < n; k += kBlock) {
    check_interrupt();
    const Index b = std::min(kBlock, n - k), rest = n - k - b;
    MatrixRef corner = A.block(k, k, b, b);
    const Eigen::LLT<MatrixRef> factor(corner);  // in place
    if (factor.info() != Eigen::Success) return false;
    MatrixRef below = A.block(k + b, k, rest, b);
    in_parts(rest, kPart, threads, [&](Index first, Index count) {
      auto rows = below.middleRows(first, count);
      corner.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(rows);
    });
    add_outer(below, -1.0, threads, A.bottomRightCorner(rest, rest));
  }
  return true;
}

void congruence(const Rows& L, int threads, MatrixRef A) {
  const Index n = A.rows();
  for (Index k = 0; k < n; k += kBlock) {
    check_interrupt();
    const Index b = std::min(kBlock, n - k), rest = n - k - b;
    const auto l = L.block(k, k, b, b).triangularView<Eigen::Lower>();
    Matrix corner = A.block(k, k, b, b).selfadjointView<Eigen::Lower>();
    l.solveInPlace(corner);
    l.transpose().solveInPlace<Eigen::OnTheRight>(corner);
    A.block(k, k, b, b).triangularView<Eigen::Lower>() = corner;
    if (rest == 0) return;
    MatrixRef below = A.block(k + b, k, rest, b);
    const auto below_l = L.block(k + b, k, rest, b);
    // half of the step on either side of the update, so that the update is symmetric
    const Matrix half = 0.5 * Matrix(A.block(k, k, b, b).selfadjointView<Eigen::Lower>());
    in_parts(rest, kPart, threads, [&](Index first, Index count) {
      auto rows = below.middleRows(first, count);
      l.transpose().solveInPlace<Eigen::OnTheRight>(rows);
      add_product(-1.0, below_l.middleRows(first, count), half, rows);
    });
    const auto products = [&](Index row, Index column, MatrixRef out) {
      add_product(-1.0, below.middleRows(row, out.rows()), below_l.middleRows(column, out.cols()).transpose(), out);
      add_product(-1.0, below_l.middleRows(row, out.rows()), below.middleRows(column, out.cols()).transpose(), out);
    };
    in_stripes(
        A.bottomRightCorner(rest, rest), threads,
        [&](Index row, MatrixRef out) {
          const auto a = below.middleRows(row, out.rows());
          const auto l = below_l.middleRows(row, out.rows());
          out.triangularView<Eigen::Lower>() -= a * l.transpose();
          out.triangularView<Eigen::Lower>() -= l * a.transpose();
        },
        products);
    in_parts(rest, kPart, threads, [&](Index first, Index count) {
      add_product(-1.0, below_l.middleRows(first, count), half, below.middleRows(first, count));
    });
    solve_columns(L.bottomRightCorner(rest, rest), threads, below);
  }
}

}  // namespace kernsift
