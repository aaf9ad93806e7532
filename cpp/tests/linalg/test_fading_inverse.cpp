// Every verb of an inverse that fades against the dense matrix, faded explicitly.
#include <Eigen/Cholesky>
#include <cmath>

#include "core/linalg/fading_inverse.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

constexpr double kPrior = 4.0;  // 1 / alpha

// What is said of C, whatever its frame: a(S + b I) is a difference of numbers as large as the prior, and no rounding
// of C is more than some units in the last place of that.
bool same(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && (a.size() == 0 || (a - b).cwiseAbs().maxCoeff() < check::kRounding * kPrior);
}

// C as a posterior has it: I / alpha less what some rows took from it.
Matrix covariance(Index n, unsigned seed) {
  const Matrix W = check::normal_rows(n, 3, seed);
  const Matrix inverse = Matrix::Identity(n, n) / kPrior + W * W.transpose();
  return inverse.llt().solve(Matrix::Identity(n, n));
}

void fade(Matrix& C, double factor) {
  C *= factor;
  C.diagonal().array() += (1.0 - factor) * kPrior;
}

// An inverse and its dense twin, faded `rows` times.
struct Twin {
  Twin(Index n, double factor, int rows, unsigned seed = 71) : dense(covariance(n, seed)) {
    lazy.assign(dense);
    for (int i = 0; i < rows; ++i) step(factor);
  }
  void step(double factor) {
    lazy.fade(factor, kPrior);
    fade(dense, factor);
  }
  bool agrees() {
    lazy.settle();
    return same(lazy.dense(), dense);
  }
  FadingInverse lazy;
  Matrix dense;
};

struct Case {
  double factor;
  int rows;
};
// Not faded at all, some rows, just before a rebase and beyond several, and a memory that keeps next to nothing.
constexpr Case kCases[] = {{1.0, 5}, {0.9995, 40}, {0.99, 275}, {0.99, 1000}, {0.5, 3}, {0.5, 9}, {1e-6, 2}};

}  // namespace

TEST(BEYOND_B7_fading_is_the_dense_matrix_on_its_way_to_the_prior) {
  for (const Case& c : kCases)
    for (const Index n : {1, 4, 33}) {
      Twin twin(n, c.factor, c.rows);
      CHECK(same(twin.lazy.dense(), twin.dense));
      CHECK(twin.lazy.frame().scale > 0 && twin.lazy.frame().scale <= 1 && twin.lazy.frame().shift >= 0);
    }
  Twin forgotten(6, 0.5, 200);  // nothing is left but the prior
  CHECK(same(forgotten.lazy.dense(), kPrior * Matrix::Identity(6, 6)));
}

TEST(BEYOND_B7_a_memory_of_one_is_the_symmetric_inverse_to_the_last_bit) {
  const Matrix C = covariance(9, 72);
  const Vector u = check::normal_rows(9, 1, 73), x = check::normal_rows(9, 1, 74);
  SymmetricInverse plain;
  FadingInverse lazy;
  plain.assign(C);
  lazy.assign(C);
  Vector a(9), b(9);
  for (int i = 0; i < 20; ++i) {
    plain.owe_outer(u, -0.001);
    lazy.owe_outer(u, -0.001);
    lazy.fade(1.0, kPrior);
    plain.apply_settled(x, a);
    lazy.apply_settled(x, b);
    CHECK(a == b);
  }
  plain.settle();
  lazy.settle();
  CHECK(plain.dense() == lazy.dense() && lazy.frame().scale == 1 && lazy.frame().shift == 0);
}

TEST(BEYOND_B7_what_is_read_of_a_faded_inverse) {
  for (const Case& c : kCases)
    for (const Index n : {1, 5, 33}) {
      Twin twin(n, c.factor, c.rows);
      const Vector u = check::normal_rows(n, 1, 75), x = check::normal_rows(n, 1, 76);
      const Matrix X = check::normal_rows(n, 7, 77);
      // C stays positive where less is taken away than there is
      const double less = -0.5 / u.dot(twin.dense.llt().solve(u));
      twin.lazy.owe_outer(u, less);
      twin.dense += less * u * u.transpose();
      for (Index i = 0; i < n; ++i)  // what is pending included
        CHECK(std::abs(twin.lazy.settled_diagonal(i) - twin.dense(i, i)) < check::kRounding * kPrior);
      Vector out(n);
      twin.lazy.apply_settled(x, out);
      const double size = 1.0 + x.lpNorm<1>();
      CHECK(same(out / size, twin.dense * x / size));
      Matrix block(n, 7);
      twin.lazy.apply_block(X, block);
      CHECK(same(block / (1.0 + X.cwiseAbs().sum()), twin.dense * X / (1.0 + X.cwiseAbs().sum())));
      twin.lazy.column(n - 1, out);
      CHECK(same(out, twin.dense.col(n - 1)));
      CHECK(same(twin.lazy.diagonal(), twin.dense.diagonal()));
      CHECK(twin.agrees());
      FadingInverse again;  // as it is kept in a file
      again.assign(twin.lazy.stored().dense(), twin.lazy.frame());
      CHECK(again.dense() == twin.lazy.dense());
    }
}

TEST(BEYOND_B7_growing_rotating_and_shrinking_while_fading) {
  for (const Case& c : kCases)
    for (const Index n : {2, 8, 20})
      for (const Index offset : {Index(0), Index(1)}) {
        Twin twin(n, c.factor, c.rows, 78);
        const Vector column = 0.1 * check::normal_rows(n, 1, 79);
        twin.lazy.append(column, kPrior);
        twin.dense.conservativeResize(n + 1, n + 1);
        twin.dense.col(n).head(n) = column;
        twin.dense.row(n).head(n) = column.transpose();
        twin.dense(n, n) = kPrior;
        twin.step(c.factor);
        CHECK(twin.agrees());

        Rotations rotations;
        rotations.first = 0;
        Matrix G = Matrix::Identity(n + 1, n + 1);
        for (Index q = offset; q < n; ++q) {
          const Rotation g{std::cos(0.7 * q + 0.3), std::sin(0.7 * q + 0.3)};
          rotations.chain.push_back(g);
          Matrix turn = Matrix::Identity(n + 1, n + 1);
          turn(q, q) = turn(q + 1, q + 1) = g.c;
          turn(q + 1, q) = g.s;
          turn(q, q + 1) = -g.s;
          G = G * turn;
        }
        twin.lazy.rotate(rotations, offset);
        twin.dense = Matrix(G.transpose() * twin.dense * G);
        Twin dropped = twin;
        twin.lazy.owe_remove_last();
        const Vector last = twin.dense.col(n).head(n);
        twin.dense = Matrix(twin.dense.topLeftCorner(n, n) - last * last.transpose() / twin.dense(n, n));
        twin.step(c.factor);  // while the removal is pending
        CHECK(twin.agrees());

        dropped.lazy.settle();
        dropped.lazy.drop_last();
        dropped.dense = Matrix(dropped.dense.topLeftCorner(n, n));
        CHECK(dropped.agrees());
      }
}

TEST(BEYOND_B8_what_a_run_of_rows_takes_is_taken_with_its_fading) {
  for (const Case& c : kCases)
    for (const Index n : {3, 20}) {
      Twin twin(n, c.factor, c.rows, 81);
      Matrix G = check::normal_rows(n, 2, 82);
      G *= 0.1;
      FadingInverse::Frame frame = twin.lazy.frame();
      twin.lazy.settle();
      for (int i = 0; i < 4; ++i) {
        frame.fade(c.factor, kPrior);
        fade(twin.dense, c.factor);
      }
      if (!(frame.scale > 0) || !std::isfinite(frame.shift)) continue;  // the posterior learns such rows one by one
      twin.lazy.lose_and_fade(G, frame);
      twin.dense -= G * G.transpose();
      CHECK(twin.agrees());
    }
}

// Ten thousand rows, kernels that come and go, and a rebase each few hundred of them.
TEST(BEYOND_B7_rounding_does_not_add_up) {
  for (const double factor : {0.9995, 0.99, 0.9, 0.5}) {
    const Index n = 12;
    Twin twin(n, factor, 0, 83);
    const RowMatrix rows = check::normal_rows(10'000, n, 84);
    for (Index i = 0; i < rows.rows(); ++i) {
      const Vector w = rows.row(i).transpose();
      Vector h(n);
      twin.lazy.apply_settled(w, h);
      twin.lazy.owe_outer(h, -1.0 / (1.0 + w.dot(h)));
      const Vector g = twin.dense * w;
      twin.dense -= g * g.transpose() / (1.0 + w.dot(g));
      twin.step(factor);
    }
    CHECK(twin.agrees());
  }
}
