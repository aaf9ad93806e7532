#include <Eigen/Cholesky>
#include <algorithm>
#include <iterator>

#include "core/batch/deletion.hpp"
#include "core/batch/subset.hpp"
#include "tests/check.hpp"
#include "tests/kernel_matrix.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;
using namespace check;

}  // namespace

TEST(sums_over_rows_are_the_products_of_explicit_coordinates) {
  const Index n = 300, m = 21;  // more than a tile of rows
  const RowMatrix X = check::normal_rows(n, 3, 50), Y = check::normal_rows(n, 2, 51);
  const Vector v = check::normal_rows(n, 1, 52).cwiseAbs(), offset = Vector::Constant(2, 0.5);
  const Kernel kernel = make(3);
  const RowMatrix S = X.topRows(m);
  PreparedRows rows;
  kernel.prepare(S, rows);
  const Eigen::LLT<Matrix> factor(dense(kernel, S, S));
  const Matrix L = factor.matrixL(), K = dense(kernel, S, X), W = factor.matrixL().solve(K);
  const Matrix t = Y.rowwise() - offset.transpose();
  for (const bool white : {false, true}) {
    Matrix where(m, m);
    NormalSums sums(where, 2);
    accumulate(kernel, elements_of(kernel, rows), white ? L : Matrix(), X, Y, v, offset, 1, sums);
    const Matrix& U = white ? W : K;
    const Matrix M = sums.M.selfadjointView<Eigen::Lower>(), expected = U * v.asDiagonal() * U.transpose();
    CHECK(off(M, expected) < 1e-13 * n);
    CHECK(off(sums.z, U * v.asDiagonal() * t) < 1e-13 * n && off(sums.s, U * v) < 1e-13 * n);
    CHECK(std::abs(sums.weight - v.sum()) < 1e-13 * n);
    if (white) continue;
    whiten(L, 1, sums);  // as if they had been taken in orthonormal coordinates, up to the condition of K
    const Matrix white_M = sums.M.selfadjointView<Eigen::Lower>();
    CHECK(off(white_M, W * v.asDiagonal() * W.transpose()) < 1e-15 * whitening_growth(L) * n);
  }
}

TEST(elements_are_deleted_by_what_they_cost) {
  const Index n = 130, m = 100;  // more than one block of the inverse triangle
  const RowMatrix X = check::normal_rows(n, 6, 53);
  const Kernel kernel = make(6);
  const Matrix K_mm = dense(kernel, X.topRows(m), X.topRows(m)), K = dense(kernel, X.topRows(m), X);
  const Matrix y = X.col(0).array().sin();
  const double alpha = 0.1;
  const auto cost = [&](const std::vector<Index>& S) {  // of the best fit on S
    const Index size = static_cast<Index>(S.size());
    Matrix P(size, size), z(size, 1);
    const Matrix G = K * K.transpose(), f = K * y;
    for (Index i = 0; i < size; ++i) {
      z(i, 0) = f(S[i], 0);
      for (Index j = 0; j < size; ++j) P(i, j) = G(S[i], S[j]) + alpha * K_mm(S[i], S[j]);
    }
    return -(z.transpose() * P.ldlt().solve(z))(0, 0);
  };
  Matrix G = K * K.transpose(), k = K_mm;
  const auto order = deletion_order(G, k, K * y, alpha, m - 3, 1e-9).order;  // one at a time
  std::vector<Index> alive = all(m);
  for (Index step = 0; step < 3; ++step) {
    double least = 1e300;
    Index worst = -1;
    for (const Index i : alive) {
      std::vector<Index> rest;
      std::copy_if(alive.begin(), alive.end(), std::back_inserter(rest), [&](Index j) { return j != i; });
      if (const double c = cost(rest); c < least) least = c, worst = i;
    }
    CHECK(order[step] == worst);
    alive.erase(std::find(alive.begin(), alive.end(), worst));
  }
  CHECK(std::vector<Index>(order.begin() + 3, order.end()) == alive);
  Matrix one = Matrix::Ones(1, 1), unit = Matrix::Ones(1, 1);
  CHECK(deletion_order(one, unit, Matrix::Ones(1, 1), alpha, 1, 0.1).order == std::vector<Index>{0});
}
