#include <Eigen/Cholesky>

#include "core/stream/recursive_least_squares.hpp"
#include "core/stream/resolved_span.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

// [b; beta] of the penalised normal equations.
Matrix solved(const Matrix& X, const Matrix& Y, const Vector& v, double alpha) {
  Matrix Z(X.rows(), X.cols() + 1);
  Z << Vector::Ones(X.rows()), X;
  Matrix A = Z.transpose() * v.asDiagonal() * Z;
  A.diagonal().tail(X.cols()).array() += alpha;
  return A.ldlt().solve(Z.transpose() * v.asDiagonal() * Y);
}
double error_of(const RecursiveLeastSquares& model, const Matrix& expected) {
  Matrix found(expected.rows(), expected.cols());
  found << model.intercept().transpose(), model.coefficients();
  return (found - expected).cwiseAbs().maxCoeff();
}
constexpr double kTolerance = 1e-10;  // both sides lose the condition, below 1e4

}  // namespace

TEST(recursive_least_squares_are_the_normal_equations) {
  const Index n = 150, d = 4;
  RowMatrix X = check::normal_rows(n, d, 71).array() + 3.0;
  const RowMatrix Y = check::normal_rows(n, 2, 72);
  const Vector v = Vector::LinSpaced(n, 0.5, 2.0);
  RecursiveLeastSquares rows(d, 2, 0.1, true), block(d, 2, 0.1, true);
  for (Index i = 0; i < n; ++i) CHECK(rows.update(X.row(i).data(), Y.row(i).data(), v[i]));
  CHECK(block.update_block(X, Y, v) == 0);
  CHECK(error_of(rows, solved(X, Y, v, 0.1)) < kTolerance);
  CHECK(error_of(block, solved(X, Y, v, 0.1)) < kTolerance);
  // the first row goes, a feature comes that was 0 until now, another goes
  CHECK(rows.update(X.row(0).data(), Y.row(0).data(), -v[0]));
  rows.grow(1);
  const RowMatrix later = check::normal_rows(20, d + 1, 73);
  CHECK(rows.update_block(later, Y.topRows(20), Vector::Ones(20)) == 0);
  rows.remove(1);
  Matrix all = Matrix::Zero(n - 1 + 20, d + 1);
  all.topLeftCorner(n - 1, d) = X.bottomRows(n - 1);
  all.bottomRows(20) = later;
  Matrix kept(all.rows(), d);
  kept << all.col(0), all.rightCols(d - 1);
  Matrix targets(all.rows(), 2);
  targets << Y.bottomRows(n - 1), Y.topRows(20);
  Vector weights(all.rows());
  weights << v.tail(n - 1), Vector::Ones(20);
  CHECK(error_of(rows, solved(kept, targets, weights, 0.1)) < kTolerance);
  Arrays arrays;
  rows.save(arrays);
  RecursiveLeastSquares again(d, 2, 0.1, true);
  again.load(arrays);
  CHECK(Matrix(again.coefficients()) == Matrix(rows.coefficients()));
  CHECK(again.covariance() == rows.covariance());
}

TEST(a_span_measures_its_rows_and_refuses_them_twice) {
  const RowMatrix X = check::normal_rows(12, 3, 74);
  ResolvedSpan span(Kernel(KernelKind::rbf, Vector::Constant(3, 0.4), 3, 1.0, Vector::Zero(3)));
  for (Index i = 0; i < 10; ++i) CHECK(span.append(X.row(i).data()));
  CHECK(!span.append(X.row(3).data()));
  span.remove(3);
  Vector distance, bound;
  span.novelty(X, distance, bound);
  for (Index i = 0; i < 10; ++i) CHECK(i == 3 ? distance[i] > 1e-6 : distance[i] <= bound[i]);
  RowMatrix W(12, span.size());
  span.coordinates(X, W);
  // k(x, x) is 1 for each row: what is no distance is in the coordinates
  CHECK((W.rowwise().squaredNorm() + distance - Vector::Ones(12)).cwiseAbs().maxCoeff() < 1e-12);
}
