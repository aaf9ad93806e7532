#include "core/linalg/symmetric_eigen.hpp"

#include <Eigen/Eigenvalues>
#include <atomic>
#include <vector>

namespace kernsift {

namespace {

std::atomic<Dsyevd*> lapack{nullptr};
constexpr Index kMostRows = 32000;  // of which the workspace is counted by an int

bool for_lapack(const Matrix& A) {
  const Index n = A.rows();
  if (n < SymmetricEigen::kLapackSize || n > kMostRows || !lapack.load()) return false;
  for (Index j = 0; j < n; ++j)
    if (!A.col(j).tail(n - j).allFinite()) return false;
  return true;
}

}  // namespace

void SymmetricEigen::use(Dsyevd* routine) { lapack = routine; }

SymmetricEigen::SymmetricEigen(Matrix A, bool vectors) : vectors_(std::move(A)) {
  if (for_lapack(vectors_)) {
    sound_ = by_lapack(vectors);
    return;
  }
  Eigen::SelfAdjointEigenSolver<Matrix> solver(vectors_, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  sound_ = solver.info() == Eigen::Success;
  values_ = solver.eigenvalues();
  if (vectors) vectors_ = solver.eigenvectors();
}

bool SymmetricEigen::by_lapack(bool vectors) {
  char job = vectors ? 'V' : 'N', lower = 'L';
  int n = static_cast<int>(vectors_.rows()), info = 0;
  int room = vectors ? 1 + 6 * n + 2 * n * n : 1 + 2 * n, places = vectors ? 3 + 5 * n : 1;
  Vector work(room);
  std::vector<int> integers(places);
  values_.resize(n);
  lapack.load()(&job, &lower, &n, vectors_.data(), &n, values_.data(), work.data(), &room, integers.data(), &places,
                &info);
  return info == 0;
}

}  // namespace kernsift
