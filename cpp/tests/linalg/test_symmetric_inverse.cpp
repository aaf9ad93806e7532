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

TEST(only_the_lower_triangle_of_an_inverse_is_read) {
  SymmetricInverse clean, dirty;
  Matrix B = positive(9, 21);
  clean.assign(B);
  Matrix spoiled = B;
  spoiled.triangularView<Eigen::StrictlyUpper>().setConstant(1e9);
  dirty.assign(spoiled);
  const Vector u = check::normal_rows(9, 1, 22);
  for (SymmetricInverse* s : {&clean, &dirty}) {
    s->add_outer(u, -0.01);
    s->border(u, 2.0);
    s->remove(3);
  }
  CHECK(clean.dense() == dirty.dense());
}
