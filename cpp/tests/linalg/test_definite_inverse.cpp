#include <Eigen/LU>
#include <cmath>

#include "core/linalg/definite_inverse.hpp"
#include "core/linalg/general_inverse.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

Matrix definite(Index n, unsigned seed) {
  const Matrix A = check::normal_rows(n, n, seed);
  return A * A.transpose() / static_cast<double>(n) + Matrix::Identity(n, n);
}
double error_of(const Matrix& inverse, const Matrix& B) {
  return (inverse * B - Matrix::Identity(B.rows(), B.rows())).cwiseAbs().maxCoeff();
}
Matrix without(const Matrix& B, Index i) {
  Matrix out(B.rows() - 1, B.cols() - 1);
  for (Index r = 0; r < out.rows(); ++r)
    for (Index c = 0; c < out.cols(); ++c) out(r, c) = B(r + (r >= i), c + (c >= i));
  return out;
}
constexpr double kTolerance = 1e-11;  // of conditions below 1e3 after some steps

}  // namespace

TEST(a_definite_inverse_follows_rows_growth_and_deletion) {
  const Index n = 9;
  Matrix B = definite(n, 61);
  DefiniteInverse inverse;
  CHECK(inverse.assign(B));
  const RowMatrix X = check::normal_rows(130, n, 62);
  const Vector v = Vector::LinSpaced(130, -0.001, 1.0);  // one row of negative weight
  CHECK(inverse.update_block(X, v));
  B += X.transpose() * v.asDiagonal() * X;
  CHECK(error_of(inverse.dense(), B) < kTolerance);
  const Vector x = X.row(5);
  CHECK(inverse.update(x, 2.0) && inverse.update(x, -2.0));
  const Vector b = 0.1 * check::normal_rows(n, 1, 63);
  CHECK(inverse.grow(b, 40.0));
  Matrix larger(n + 1, n + 1);
  larger << B, b, b.transpose(), 40.0;
  CHECK(error_of(inverse.dense(), larger) < kTolerance);
  CHECK(inverse.remove(4));
  const Matrix left = without(larger, 4);
  CHECK(error_of(inverse.dense(), left) < kTolerance);
  CHECK(std::abs(inverse.log_det() - std::log(left.determinant())) < kTolerance);
}

TEST(what_breaks_an_inverse_is_refused_and_changes_nothing) {
  const Index n = 6;
  DefiniteInverse inverse;
  inverse.assign_ridge(n, 0.5);
  const Matrix before = inverse.dense();
  const Vector x = Vector::Ones(n);
  RowMatrix X(2, n);
  X << x.transpose(), x.transpose();
  CHECK(!inverse.update(x, -1.0));
  CHECK(!inverse.update_block(X, (Vector(2) << 1.0, -3.0).finished()));
  CHECK(!inverse.grow(x, 1.0));
  CHECK(!inverse.border(x, 0.0));
  CHECK(!inverse.update(1e200 * x, 1.0));
  CHECK(inverse.dense() == before);
  CHECK(inverse.log_det() == static_cast<double>(n) * std::log(0.5));
  CHECK(!DefiniteInverse().assign(-before));
  GeneralInverse general;
  CHECK(!general.assign(Matrix::Ones(3, 3)));
  general.assign_ridge(2, 1.0);
  CHECK(!general.update(Vector::Unit(2, 0), Vector::Unit(2, 0), -1.0));
  CHECK(Matrix(general.view()) == Matrix::Identity(2, 2));
}

TEST(a_general_inverse_follows_both_sides_and_the_sign) {
  const Index n = 7;
  Matrix B = definite(n, 64) + 0.3 * Matrix(check::normal_rows(n, n, 65));
  B.row(0).swap(B.row(1));
  GeneralInverse inverse;
  CHECK(inverse.assign(B));
  const RowMatrix U = check::normal_rows(3, n, 66), V = check::normal_rows(3, n, 67);
  const Vector v = (Vector(3) << 0.1, -0.2, 0.3).finished();
  CHECK(inverse.update_block(U, V, v));
  B += U.transpose() * v.asDiagonal() * V;
  CHECK(inverse.update(U.row(0).transpose(), V.row(1).transpose(), 0.2));
  B += 0.2 * U.row(0).transpose() * V.row(1);
  const Vector b = U.row(2), c = V.row(2);
  CHECK(inverse.grow(b, c, 30.0));
  Matrix larger(n + 1, n + 1);
  larger << B, b, c.transpose(), 30.0;
  CHECK(inverse.remove(n));
  CHECK(inverse.grow(b, c, 30.0));
  CHECK(error_of(inverse.view(), larger) < kTolerance);
  const double determinant = larger.determinant();
  CHECK(std::abs(inverse.log_det() - std::log(std::abs(determinant))) < kTolerance);
  CHECK(inverse.sign() == (determinant < 0 ? -1.0 : 1.0));
}
