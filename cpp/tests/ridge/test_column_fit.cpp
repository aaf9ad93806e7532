#include <Eigen/QR>
#include <cmath>

#include "core/ridge/column_fit.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using namespace kernsift;

TEST(columns_are_fitted_as_by_a_dense_decomposition) {
  const Index n = 300, m = 34;  // beyond a block of rows and a panel of columns
  const Matrix K = check::normal_rows(n, m, 81);
  Matrix Y = check::normal_rows(n, 2, 82);
  Y += 0.2 * K.leftCols(20).rowwise().sum().replicate(1, 2);
  const Vector v = Vector::LinSpaced(n, 0.5, 1.5);
  const Matrix weighted = v.cwiseSqrt().asDiagonal() * K, targets = v.cwiseSqrt().asDiagonal() * Y;
  ColumnFit fit(n, v, 1, 1, OrthogonalBasis::kRankTol);
  for (Index j = 0; j < m; ++j) CHECK(fit.append(K.col(j)));
  CHECK(!fit.append(K.col(0) + K.col(m - 1)));
  const Matrix expected = weighted.householderQr().solve(targets);
  CHECK((fit.solve(Y, 0.0) - expected).cwiseAbs().maxCoeff() < 1e-12);
  CHECK((fit.residual(Y, 0.0) - (Y - K * expected)).cwiseAbs().maxCoeff() < 1e-12);
  CHECK((fit.pseudoinverse() * Y - expected).cwiseAbs().maxCoeff() < 1e-12);
  const double cost = (targets - weighted * expected).squaredNorm();
  fit.pop();
  const Matrix fewer = weighted.leftCols(m - 1).householderQr().solve(targets);
  const double before = (targets - weighted.leftCols(m - 1) * fewer).squaredNorm();
  CHECK(std::abs(fit.error_reductions(K.col(m - 1), Y, 0.0)[0] - (before - cost)) < 1e-10);
  CHECK(fit.error_reductions(K.col(3), Y, 0.0)[0] == 0.0);
  const double ridge = fit.best_ridge(Y);
  // the search ends when the ridge moves by less than 1e-6 of itself
  for (double factor : {0.5, 0.9, 1.1, 2.0}) CHECK(fit.gcv(Y, ridge) <= fit.gcv(Y, ridge * factor) * (1 + 1e-6));
}
