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

TEST(columns_wait_only_where_one_orthogonalisation_is_enough) {
  const Index n = 300, m = 60;  // waiting columns are formed when eight wait, and before every third, which is near
  Matrix K = check::normal_rows(n, m, 83);
  for (Index j = 12; j < m; j += 3)
    K.col(j) = K.leftCols(j).rowwise().sum().normalized() + 1e-4 * K.col(j).normalized();
  const Matrix Y = check::normal_rows(n, 1, 84);
  ColumnFit fit(n, Vector(), 0, 1, OrthogonalBasis::kRankTol);
  for (Index j = 0; j < m; ++j) {
    CHECK(fit.append(K.col(j)));
    CHECK(fit.size() == j + 1);
    if (j % 7 == 6) {  // one that goes again, and one that is dependent on what waits
      CHECK(fit.append(Y.col(0)));
      fit.pop();
      CHECK(!fit.append(K.leftCols(j + 1).rowwise().sum()));
      CHECK(fit.size() == j + 1);
    }
  }
  const OrthogonalBasis& basis = fit.basis();
  CHECK(basis.size() == m && !basis.pending());
  Matrix Q(basis.padded_rows(), m);
  for (Index j = 0; j < m; ++j) basis.column(j, Q.col(j));
  CHECK((Q.topRows(n) * Matrix(basis.U()) - K).cwiseAbs().maxCoeff() < 1e-13);
  CHECK((Q.colwise().squaredNorm().transpose().array() / basis.h().array() - 1.0).abs().maxCoeff() < 1e-9);
  Q.colwise().normalize();
  CHECK((Q.transpose() * Q - Matrix::Identity(m, m)).cwiseAbs().maxCoeff() < 1e-14);
}
