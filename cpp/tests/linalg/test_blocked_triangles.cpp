#include <Eigen/Cholesky>

#include "core/linalg/blocked_triangles.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

constexpr Index kSize = 300;  // more than two blocks, the last of them short

Matrix positive(unsigned seed) {
  const Matrix A = check::normal_rows(kSize, kSize, seed);
  return A * A.transpose() + kSize * Matrix::Identity(kSize, kSize);
}

double off(const Matrix& a, const Matrix& b) { return (a - b).norm() / b.norm(); }

// Work on the lower triangle of a matrix: the same bits whatever the threads, and nothing above the diagonal touched.
template <class Work>
Matrix lower(const Matrix& A, const Work& work) {
  Matrix first;
  for (const int threads : {1, 2, 5}) {
    Matrix B = A;
    B.triangularView<Eigen::StrictlyUpper>().setConstant(7e7);
    work(B, threads);
    for (Index j = 1; j < B.cols(); ++j) CHECK((B.col(j).head(j).array() == 7e7).all());
    if (threads == 1) first = B;
    CHECK(B == first);
  }
  return first.triangularView<Eigen::Lower>();
}

}  // namespace

TEST(cholesky_in_place) {
  const Matrix A = positive(61);
  const Matrix R = lower(A, [](Matrix& B, int threads) { CHECK(cholesky(B, threads)); });
  CHECK(off(R * R.transpose(), A) < 1e-15 * kSize);
  Matrix indefinite = A;
  indefinite(200, 200) = -1;
  CHECK(!cholesky(indefinite, 1));
}

TEST(a_congruence_in_place) {
  const Matrix A = positive(62), K = positive(63);
  const RowMatrix L = Eigen::LLT<Matrix>(K).matrixL();
  RowMatrix dirty = L;
  dirty.triangularView<Eigen::StrictlyUpper>().setConstant(9e9);  // not read
  const Matrix M = lower(A, [&](Matrix& B, int threads) { congruence(dirty, threads, B); });
  const Matrix back = L * M.selfadjointView<Eigen::Lower>() * L.transpose();
  CHECK(off(back, A) < 1e-15 * kSize);
}

TEST(outer_products_and_solutions_by_columns) {
  const Matrix A = positive(64), W = check::normal_rows(kSize, 90, 65);
  const Matrix sum = lower(A, [&](Matrix& B, int threads) { add_outer(W, -0.5, threads, B); });
  const Matrix expected = A - 0.5 * W * W.transpose(), below = expected.triangularView<Eigen::Lower>();
  CHECK(off(sum, below) < 1e-14);
  const RowMatrix L = Eigen::LLT<Matrix>(A).matrixL();
  Matrix K = W, again = W;
  solve_columns(L, 1, K);
  solve_columns(L, 3, again);
  CHECK(K == again && off(L * K, W) < 1e-13);
}
