#pragma once

#include <Eigen/Core>

#include "core/base/types.hpp"

namespace kernsift {

// LAPACK's dsyevd, with 32-bit integers.
using Dsyevd = void(char* jobz, char* uplo, int* n, double* a, int* lda, double* w, double* work, int* lwork,
                    int* iwork, int* liwork, int* info);

// Eigenvalues, ascending, and eigenvectors of the lower triangle of a symmetric matrix. By Eigen's solver; of
// kLapackSize rows and more by LAPACK's where a program lends one, in a third to a sixth of the time. Takes two squares
// of the size to work in; the eigenvectors take the place of the matrix.
class SymmetricEigen {
 public:
  static constexpr Index kLapackSize = 256;
  static void use(Dsyevd* routine);  // nullptr: none

  explicit SymmetricEigen(Matrix A, bool vectors = true);

  bool sound() const { return sound_; }  // whether the iterations converged
  const Vector& eigenvalues() const { return values_; }
  const Matrix& eigenvectors() const { return vectors_; }

 private:
  bool by_lapack(bool vectors);

  Matrix vectors_;
  Vector values_;
  bool sound_ = true;
};

}  // namespace kernsift
