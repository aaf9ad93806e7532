#include "core/kernel/kernel_span.hpp"
#include "core/linalg/symmetric_inverse.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

Matrix positive(Index n, unsigned seed) {
  const Matrix A = check::normal_rows(n, n, seed);
  return A * A.transpose() + Matrix::Identity(n, n);
}

}  // namespace

TEST(span_remove_and_rotate_leave_the_represented_matrices_alone) {
  const Index m = 12, gone = 4;
  const Matrix K = positive(m, 23);
  KernelSpan span;
  span.assign(positive(m, 24).triangularView<Eigen::Lower>().toDenseMatrix());
  const Matrix L = Matrix(span.factor());
  SymmetricInverse C;
  C.assign(K);
  Matrix theta = check::normal_rows(m, 2, 25);
  const Matrix beta = L.transpose().triangularView<Eigen::Upper>().solve(theta);

  Rotations rotations;
  span.remove(gone, rotations);
  C.rotate(rotations, 0);
  rotations.rotate_rows(theta, 0);

  // L without row `gone` times its transpose is unchanged
  Matrix rows_left(m - 1, m);
  rows_left << L.topRows(gone), L.bottomRows(m - 1 - gone);
  const Matrix after = Matrix(span.factor());
  const double scale = (rows_left * rows_left.transpose()).cwiseAbs().maxCoeff();
  CHECK((after * after.transpose() - rows_left * rows_left.transpose()).cwiseAbs().maxCoeff() < 1e-13 * scale);
  CHECK((after.diagonal().array() > 0).all());
  // the congruence keeps the spectrum: trace and Frobenius norm
  CHECK(std::abs(C.dense().trace() - K.trace()) < 1e-12 * K.trace());
  CHECK(std::abs(C.dense().norm() - K.norm()) < 1e-12 * K.norm());
  // theta still is the same function on the elements that stay: L_new theta_head = rows_left * old theta
  const Matrix old_values = rows_left * L.transpose() * beta;
  CHECK((after * theta.topRows(m - 1) - old_values).cwiseAbs().maxCoeff() < 1e-12 * old_values.cwiseAbs().maxCoeff());
}
