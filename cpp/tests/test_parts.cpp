#include <limits>
#include <new>

#include "core/admission.hpp"
#include "core/parallel.hpp"
#include "core/span.hpp"
#include "core/symmetric_inverse.hpp"
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

TEST(span_remove_and_rotate_leave_the_represented_matrices_alone) {
  const Index m = 12, gone = 4;
  const Matrix K = positive(m, 23);
  Span span;
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

TEST(a_task_that_throws_on_any_thread_ends_the_call_and_not_the_process) {
  for (const Index bad : {Index(0), Index(7), Index(49)}) {
    std::atomic<int> begun{0};
    bool caught = false;
    try {
      parallel_for(50, 3, [&](Index task) {
        ++begun;
        if (task == bad) throw std::bad_alloc();
      });
    } catch (const std::bad_alloc&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(begun > bad);
  }
}

TEST(the_weakest_is_an_element_whatever_the_scores_are) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto of = [](double a, double b, double c, double newcomer, double nothing = -std::numeric_limits<double>::infinity()) {
    return weakest((Vector(3) << a, b, c).finished(), newcomer, nothing);
  };
  CHECK(of(3, 1, 2, inf) == 1);
  CHECK(of(3, 1, 1 + 1e-12, inf) == 1);
  CHECK(of(3, 1 + 1e-12, 1, inf) == 1);  // a tie: the oldest
  CHECK(of(3, 1, 2, 0.5) == 3);          // the newcomer
  CHECK(of(3, 1e-25, 1e-30, inf, 1e-20) == 1);  // both are nothing
  CHECK(of(3, 1, 2, 1e-25, 1e-20) == 3);
  CHECK(of(-1, 2, -3, inf) == 2);
  CHECK(of(1, nan, 2, inf) == 0);  // what is no number counts among the lowest
  CHECK(of(3, nan, 1, inf) == 1);
  CHECK(of(nan, nan, nan, inf) == 0);
  CHECK(of(inf, inf, inf, inf) == 0);
  CHECK(of(0, -1e-300, 0, inf) == 1);
}
