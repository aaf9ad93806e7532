#include <Eigen/Eigenvalues>
#include <limits>

#include "core/linalg/symmetric_eigen.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;
using check::kRounding;

int calls = 0;

// In LAPACK's manner, by Eigen.
void lent(char* job, char* uplo, int* n, double* a, int* lda, double* w, double*, int* room, int*, int* places,
          int* info) {
  ++calls;
  CHECK(*uplo == 'L' && *lda == *n && *room >= (*job == 'V' ? 1 + 6 * *n + 2 * *n * *n : 1 + 2 * *n) && *places >= 1);
  Eigen::Map<Matrix> A(a, *n, *n);
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(A);
  Eigen::Map<Vector>(w, *n) = solver.eigenvalues();
  if (*job == 'V') A = solver.eigenvectors();
  *info = 0;
}

void failing(char*, char*, int*, double*, int*, double*, double*, int*, int*, int*, int* info) { *info = 3; }

Matrix symmetric(Index n) {
  const Matrix A = check::normal_rows(n, n, 5);
  return A + A.transpose();
}

}  // namespace

TEST(eigenvalues_of_large_matrices_come_from_the_routine_that_is_lent) {
  for (Index n : {Index{3}, SymmetricEigen::kLapackSize - 1, SymmetricEigen::kLapackSize}) {
    const Matrix A = symmetric(n);
    const SymmetricEigen own(A);
    calls = 0;
    SymmetricEigen::use(&lent);
    const SymmetricEigen with(A), values(A, false);
    SymmetricEigen::use(nullptr);
    CHECK(calls == (n < SymmetricEigen::kLapackSize ? 0 : 2));
    CHECK(own.sound() && with.sound() && values.sound());
    const double scale = own.eigenvalues().cwiseAbs().maxCoeff() * n * kRounding;
    CHECK((own.eigenvalues() - with.eigenvalues()).cwiseAbs().maxCoeff() < scale);
    CHECK((own.eigenvalues() - values.eigenvalues()).cwiseAbs().maxCoeff() < scale);
    const Matrix again = with.eigenvectors() * with.eigenvalues().asDiagonal() * with.eigenvectors().transpose();
    CHECK((again - A).cwiseAbs().maxCoeff() < scale);
  }
}

TEST(a_routine_that_fails_or_is_not_to_see_a_nan_gives_nothing_sound) {
  SymmetricEigen::use(&failing);
  Matrix A = symmetric(SymmetricEigen::kLapackSize);
  CHECK(!SymmetricEigen(A).sound());
  calls = 0;
  SymmetricEigen::use(&lent);
  A(A.rows() - 1, 0) = std::numeric_limits<double>::quiet_NaN();
  CHECK(!SymmetricEigen(A).sound());
  CHECK(calls == 0);
  SymmetricEigen::use(nullptr);
}
