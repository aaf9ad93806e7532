#pragma once

#include <Eigen/Eigenvalues>

#include "core/base/types.hpp"

namespace kernsift {

// Of the lower triangle. Eigen's solver takes the compiler four seconds in each file that calls it.
class SymmetricEigen : public Eigen::SelfAdjointEigenSolver<Matrix> {
 public:
  explicit SymmetricEigen(const ConstMatrixRef& A, int options = Eigen::ComputeEigenvectors);
};

}  // namespace kernsift
