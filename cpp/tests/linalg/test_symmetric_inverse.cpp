#include "core/linalg/symmetric_inverse.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;
using check::kRounding;
using check::symmetric;

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

TEST(a_change_owed_is_the_change_made_at_once) {
  for (Index n : {1, 5, 33}) {
    SymmetricInverse at_once, owed, read;
    for (SymmetricInverse* s : {&at_once, &owed, &read}) s->assign(symmetric(n, 54));
    const Vector u = check::normal_rows(n, 1, 55), x = check::normal_rows(n, 1, 56), c = check::normal_rows(n, 1, 57);
    at_once.add_outer(u, 0.3);
    owed.owe_outer(u, 0.3);
    read.owe_outer(u, 0.3);
    read.settle();  // as a reader in between would
    for (SymmetricInverse* s : {&at_once, &owed, &read}) s->append(c, 2.0);
    Vector a(n + 1), b(n + 1), d(n + 1), x1(n + 1);
    x1 << x, 1.0;
    at_once.apply(x1, a);
    owed.apply_settled(x1, b);
    read.apply_settled(x1, d);
    CHECK((a - b).cwiseAbs().maxCoeff() < kRounding * 100);
    CHECK((at_once.dense() - owed.dense()).cwiseAbs().maxCoeff() < kRounding * 100);
    CHECK(owed.dense() == read.dense());  // to the last bit
    owed.owe_remove_last();
    owed.settle();
    CHECK(owed.size() == n);
    const Matrix expected = at_once.dense().topLeftCorner(n, n) - c * c.transpose() / 2.0;
    CHECK((owed.dense() - expected).cwiseAbs().maxCoeff() < kRounding * 100);
  }
}

TEST(rotating_a_symmetric_matrix_is_the_congruence) {
  for (Index n : {2, 9, 20, 37})
    for (Index first : {Index(0), n / 3, n - 2})
      for (Index offset : {Index(0), Index(1)}) {
        if (first + offset > n - 2) continue;
        Rotations rotations;
        rotations.first = first;
        Matrix G = Matrix::Identity(n, n);  // z <- G'z
        for (Index q = first + offset; q + 1 < n; ++q) {
          const Rotation g{std::cos(0.7 * q), std::sin(0.7 * q)};
          rotations.chain.push_back(g);
          Matrix step = Matrix::Identity(n, n);
          step(q, q) = step(q + 1, q + 1) = g.c;
          step(q + 1, q) = g.s;
          step(q, q + 1) = -g.s;
          G = G * step;
        }
        const Matrix C = symmetric(n, 61);
        const Vector u = check::normal_rows(n, 1, 62);
        SymmetricInverse S;
        S.assign(C);
        S.owe_outer(u, 0.6);  // turns with the matrix
        S.rotate(rotations, offset);
        const Matrix turned = G.transpose() * (C + 0.6 * u * u.transpose()) * G;
        S.owe_remove_last();
        S.settle();
        const Vector last = turned.col(n - 1).head(n - 1);
        const Matrix expected = turned.topLeftCorner(n - 1, n - 1) - last * last.transpose() / turned(n - 1, n - 1);
        // the corner may be small: relative to what is subtracted
        CHECK((S.dense() - expected).cwiseAbs().maxCoeff() < kRounding * 100 * (1.0 + expected.cwiseAbs().maxCoeff()));
      }
}
