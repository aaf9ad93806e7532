#include <cmath>

#include "core/linalg/unsymmetric_inverse.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using namespace kernsift;

TEST(rotating_an_unsymmetric_matrix_is_the_congruence) {
  for (Index n : {1, 2, 7, 20}) {
    const Matrix before = check::normal_rows(n, n, 31);
    UnsymmetricInverse S;
    S.assign(before);
    Rotations rotations;
    rotations.first = n / 3;
    for (Index q = rotations.first; q + 1 < n; ++q) rotations.chain.push_back({std::cos(1.0 + q), std::sin(1.0 + q)});
    Matrix G_transposed = Matrix::Identity(n, n);
    rotations.rotate_rows(G_transposed, 0);
    S.rotate(rotations);
    // a few roundings for each of n rotations of numbers of size 1
    CHECK((G_transposed * G_transposed.transpose() - Matrix::Identity(n, n)).cwiseAbs().maxCoeff() < 1e-14 * n);
    CHECK((Matrix(S.view()) - G_transposed * before * G_transposed.transpose()).cwiseAbs().maxCoeff() < 1e-14 * n * n);
  }
}
