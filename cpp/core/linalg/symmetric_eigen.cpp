#include "core/linalg/symmetric_eigen.hpp"

namespace kernsift {

SymmetricEigen::SymmetricEigen(const ConstMatrixRef& A, int options) : SelfAdjointEigenSolver(A, options) {}

}  // namespace kernsift
