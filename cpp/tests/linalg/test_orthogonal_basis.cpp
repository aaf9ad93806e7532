#include <cmath>

#include "core/linalg/orthogonal_basis.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

// Columns of which each after the first lies `part` of its length from the span of those before.
Matrix near_columns(Index n, Index m, double part, unsigned seed) {
  Matrix K = check::normal_rows(n, m, seed);
  for (Index j = 1; j < m; ++j) K.col(j) = K.leftCols(j).rowwise().sum().normalized() + part * K.col(j).normalized();
  return K;
}

bool append(OrthogonalBasis& basis, const Matrix& K, Index j) {
  Vector column = Vector::Zero(basis.padded_rows());
  column.head(basis.rows()) = K.col(j);
  return basis.append(column);
}

Matrix columns_of(const OrthogonalBasis& basis) {
  Matrix Q(basis.padded_rows(), basis.size());
  for (Index j = 0; j < basis.size(); ++j) basis.column(j, Q.col(j));
  return Q.topRows(basis.rows());
}

double largest_cosine(Matrix Q) {
  Q.colwise().normalize();
  return (Q.transpose() * Q - Matrix::Identity(Q.cols(), Q.cols())).cwiseAbs().maxCoeff();
}

}  // namespace

TEST(the_last_column_is_orthogonalised_by_the_next_one_or_by_settle) {
  const Index n = 300, m = 8;
  const Matrix K = near_columns(n, m, 1e-4, 41), Y = check::normal_rows(n, 2, 42);
  OrthogonalBasis basis(Y, 1);
  for (Index j = 0; j < m; ++j) CHECK(append(basis, K, j));
  CHECK(basis.pending());
  CHECK(largest_cosine(columns_of(basis).leftCols(m - 1)) < 1e-14);
  const Vector h = basis.h();
  basis.settle();
  const Matrix Q = columns_of(basis), residual = basis.residual();
  CHECK(largest_cosine(Q) < 1e-14);
  basis.settle();
  CHECK(columns_of(basis) == Q);
  CHECK(basis.residual() == residual);
  // the second orthogonalisation moves |q|^2 by rounding times |k| / |q|, squared
  CHECK((h.array() / basis.h().array() - 1.0).abs().maxCoeff() < 1e-9);
  // what it keeps of the targets
  CHECK((Matrix(basis.f()) - Q.transpose() * Y).cwiseAbs().maxCoeff() < 1e-13);
  const Matrix left = Y - Q * (basis.h().cwiseInverse().asDiagonal() * Matrix(basis.f()));
  CHECK((residual.topRows(n) - left).cwiseAbs().maxCoeff() < 1e-13);
  CHECK((basis.residual_norm2() - Vector(left.colwise().squaredNorm())).cwiseAbs().maxCoeff() < 1e-11);
}

TEST(a_column_that_is_popped_was_never_there) {
  const Index n = 270, m = 40;  // beyond one panel
  const Matrix K = near_columns(n, m, 0.1, 43), Y = check::normal_rows(n, 1, 44);
  OrthogonalBasis basis(Y, 1), same(Y, 1);
  for (Index j = 0; j < m; ++j) CHECK(append(basis, K, j));
  for (Index j = 0; j < 31; ++j) CHECK(append(same, K, j));
  while (basis.size() > 31) basis.pop();
  same.settle();
  CHECK((columns_of(basis) - columns_of(same)).cwiseAbs().maxCoeff() < 1e-14);
  CHECK((basis.residual() - same.residual()).cwiseAbs().maxCoeff() < 1e-13);
  CHECK(append(basis, K, 31) && append(same, K, 31));
  basis.settle();
  same.settle();
  CHECK((Matrix(basis.U()) - Matrix(same.U())).cwiseAbs().maxCoeff() < 1e-13);
}

TEST(restored_columns_are_those_that_were) {
  const Index n = 300, m = 35;
  const Matrix K = near_columns(n, m, 0.1, 45), Y = check::normal_rows(n, 2, 46);
  OrthogonalBasis basis(Y, 1), again(Y, 1);
  for (Index j = 0; j < m; ++j) CHECK(append(basis, K, j));
  basis.settle();
  again.restore(columns_of(basis), basis.h(), basis.U());
  CHECK(columns_of(again) == columns_of(basis));
  CHECK(Vector(again.h()) == Vector(basis.h()));
  CHECK(Matrix(again.U()) == Matrix(basis.U()));
  CHECK((again.residual() - basis.residual()).cwiseAbs().maxCoeff() < 1e-13);
}
