// A ridge from sums over rows: against least squares on the rows themselves.
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <cmath>

#include "core/ridge/leave_one_out.hpp"
#include "core/ridge/ridge_problem.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

double off(const Matrix& a, const Matrix& b) { return (a - b).cwiseAbs().maxCoeff(); }

// Rows w, targets, weights; their sums, and the normal matrix with the bias as a column of ones.
struct Rows2 {
  explicit Rows2(bool bias)
      : bias(bias),
        W(check::normal_rows(60, 7, 11)),
        Y(check::normal_rows(60, 2, 12)),
        v((check::normal_rows(60, 1, 13).cwiseAbs().array() + 0.2).matrix()),
        offset(Vector::Constant(2, 0.7)) {
    Y.col(0) += W.col(0);
    const Matrix t = Y.rowwise() - offset.transpose();
    M = W.transpose() * v.asDiagonal() * W;
    z = W.transpose() * v.asDiagonal() * t;
    s = W.transpose() * v;
    y = t.transpose() * v;
    yy = t.cwiseAbs2().transpose() * v;
    design = Matrix(60, 7 + bias);
    design.rightCols(7) = W;
    if (bias) design.col(0).setOnes();
  }
  RidgeSums sums(double precision = 0) const { return {M, z, s, y, yy, offset, v.sum(), 60.0, precision}; }
  Matrix normal(double alpha) const {
    Matrix A = design.transpose() * v.asDiagonal() * design;
    A.diagonal().tail(7).array() += alpha;
    return A;
  }
  Matrix coefficients(double alpha) const {
    return normal(alpha).ldlt().solve(design.transpose() * v.asDiagonal() * Y);
  }

  bool bias;
  Matrix W, Y;
  Vector v, offset;
  Matrix M, z, design;
  Vector s, y, yy;
};

}  // namespace

TEST(a_solution_is_that_of_the_rows_by_factor_and_by_eigenvectors) {
  const RowMatrix L = RowMatrix(Matrix::Identity(7, 7) * 2.0);
  for (const bool bias : {false, true}) {
    const Rows2 rows(bias);
    for (const double alpha : {0.01, 3.0}) {
      const Matrix expected = rows.coefficients(alpha), e = rows.Y - rows.design * expected;
      const Vector rss = e.cwiseAbs2().transpose() * rows.v;
      const double total = std::max(rows.v.sum(), 60.0);
      const Matrix hat = rows.design * rows.normal(alpha).inverse() * rows.design.transpose() * rows.v.asDiagonal();
      RidgeProblem by_factor(rows.sums(), bias, 1), by_values(rows.sums(), bias, 1);
      by_values.largest();
      CHECK(by_factor.ready(alpha) && !by_factor.has_spectrum() && by_values.has_spectrum());
      for (RidgeProblem* problem : {&by_factor, &by_values}) {
        CHECK(off(problem->theta(alpha), expected.bottomRows(7)) < 1e-11);  // condition 1e3 at most
        const auto found = problem->solution(L, alpha);
        CHECK(off(found.coef, expected.bottomRows(7) / 2.0) < 1e-11);
        const Vector intercept = bias ? Vector(expected.row(0).transpose()) : Vector(Vector::Zero(2));
        CHECK(off(found.intercept, intercept) < 1e-11);
        const Vector cost = rss + alpha * expected.bottomRows(7).cwiseAbs2().colwise().sum().transpose();
        CHECK(off(found.cost, cost) < 1e-10);
        CHECK(off(found.noise_variance, cost / (rows.v.sum() * (1 - bias / total))) < 1e-10);
        Matrix U = rows.W.transpose();
        problem->prepare(alpha);
        problem->standardise(alpha, U);
        const Matrix fitted = (U.transpose() * problem->standardised(alpha)).rowwise() + problem->mean_y().transpose();
        CHECK(off(fitted, rows.design * expected) < 1e-11);
        const Vector leverage = U.colwise().squaredNorm().transpose().array() + problem->bias_leverage();
        CHECK(off(leverage.cwiseProduct(rows.v), hat.diagonal()) < 1e-11);
      }
      CHECK(off(by_values.rss(alpha), rss) < 1e-10 + kNoiseFloor * rows.yy.maxCoeff());
      CHECK(std::abs(by_values.dof(alpha) - hat.trace()) < 1e-11);
      const double left = total - 1.4 * hat.trace();
      CHECK(off(by_values.gcv(alpha, 1.4), total / (left * left) * rss) < 1e-10);
    }
  }
}

TEST(the_log_evidence_of_a_ridge_is_the_normal_density_of_the_targets) {
  for (const bool bias : {false, true}) {
    Rows2 rows(bias);
    const Rows2 plain = [&] {
      Rows2 r(bias);
      r.v.setOnes();
      r.M = r.W.transpose() * r.W;
      const Matrix t = r.Y.rowwise() - r.offset.transpose();
      r.z = r.W.transpose() * t, r.s = r.W.colwise().sum().transpose(), r.y = t.colwise().sum().transpose();
      r.yy = t.cwiseAbs2().colwise().sum().transpose();
      return r;
    }();
    const double alpha = 0.4, kTwoPi = 6.283185307179586;
    RidgeProblem problem(plain.sums(), bias, 1);
    // y ~ N(b 1, s2 (W W' / alpha + I)) with s2 at its best, b integrated over with a flat prior
    const Matrix S = plain.W * plain.W.transpose() / alpha + Matrix::Identity(60, 60), P = S.inverse();
    const double log_det = std::log(S.determinant()), n = bias ? 59 : 60;
    const Vector one = Vector::Ones(60);
    for (Index o = 0; o < 2; ++o) {
      const Vector y = plain.Y.col(o);
      double quadratic = y.dot(P * y), more = 0;
      if (bias) {
        quadratic -= std::pow(one.dot(P * y), 2) / one.dot(P * one);
        more = std::log(one.dot(P * one));
      }
      const double expected = -0.5 * (n * std::log(kTwoPi * quadratic / n) + n + log_det + more);
      CHECK(std::abs(problem.log_evidence(alpha, 60, 0.0)[o] - expected) < 1e-9 * std::abs(expected));
    }
  }
}

TEST(the_best_ridge_is_the_largest_of_its_grid_within_a_part_in_ten_thousand) {
  const Rows2 rows(true);
  RidgeProblem problem(rows.sums(), true, 1);
  const double best = problem.best_gcv(), score = problem.gcv(best, kGcvToll).sum();
  for (double f = 1e-3; f < 1e3; f *= 1.7) CHECK(score <= problem.gcv(best * f, kGcvToll).sum() * (1 + 2e-4));
  // the same from cross products with the bias as their first coordinate
  const Matrix cross = rows.design.transpose() * rows.v.asDiagonal() * rows.design;
  const Matrix moments = rows.design.transpose() * rows.v.asDiagonal() * rows.Y;
  const Vector squares = rows.Y.cwiseAbs2().transpose() * rows.v;
  CHECK(std::abs(best_ridge(cross, moments, squares, rows.v.sum(), 60.0, true) / best - 1) < 1e-9);
}

TEST(a_ridge_below_rounding_gives_the_smallest_minimiser) {
  Rows2 rows(false);
  rows.W.col(6) = rows.W.col(5);
  rows.M = rows.W.transpose() * rows.v.asDiagonal() * rows.W;
  rows.z = rows.W.transpose() * rows.v.asDiagonal() * rows.Y;
  rows.offset.setZero();
  RidgeProblem problem({rows.M, rows.z, rows.s, rows.y, rows.yy, rows.offset, rows.v.sum(), 60.0, 0.0}, false, 1);
  CHECK(!problem.above_rounding(0.0) && problem.above_rounding(1.0));
  const Matrix theta = problem.theta(0.0);
  CHECK(off(theta.row(5), theta.row(6)) < 1e-9);  // what the two share is split
  CHECK(off(rows.M * theta, rows.z) < 1e-9 * rows.M.norm());
}

TEST(a_factor_takes_the_place_of_the_sums_and_serves_without_them) {
  const Rows2 rows(true);
  Matrix square = rows.M;
  RidgeProblem problem({square, rows.z, rows.s, rows.y, rows.yy, rows.offset, rows.v.sum(), 60.0, 0.0}, true, 1);
  CHECK(problem.factor_into(square, 0.5));
  const Matrix theta = problem.theta(0.5), none(0, 0);
  CHECK(off(theta, rows.coefficients(0.5).bottomRows(7)) < 1e-11);
  RidgeProblem later({none, rows.z, rows.s, rows.y, rows.yy, rows.offset, rows.v.sum(), 60.0, 0.0}, true, 1);
  later.use_factor(square, 0.5);
  CHECK(off(later.theta(0.5), theta) == 0);
  bool refused = false;
  try {
    later.gcv(0.5);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

TEST(errors_of_left_out_rows_are_those_of_refitting) {
  const Rows2 rows(true);
  RidgeProblem problem(rows.sums(), true, 1);
  const Vector alphas = (Vector(2) << 0.05, 2.0).finished();
  const Matrix u = problem.vectors().transpose() * (rows.W.transpose().colwise() - problem.mean());
  LeaveOneOutGrid grid(problem.values(), problem.projected(), alphas, problem.bias_leverage());
  const Matrix centred = rows.Y.rowwise() - problem.mean_y().transpose();
  const Vector leaves = rows.v.unaryExpr(&leaving);
  grid.add(u.leftCols(25), centred.topRows(25), rows.v.head(25), leaves.head(25));  // in parts
  grid.add(u.rightCols(35), centred.bottomRows(35), rows.v.tail(35), leaves.tail(35));
  for (Index k = 0; k < 2; ++k) {
    double sum = 0;
    for (Index i = 0; i < 60; ++i) {
      const Matrix A = rows.normal(alphas[k]) - leaves[i] * rows.design.row(i).transpose() * rows.design.row(i);
      const Matrix b = rows.design.transpose() * rows.v.asDiagonal() * rows.Y -
                       leaves[i] * rows.design.row(i).transpose() * rows.Y.row(i);
      sum += rows.v[i] * (rows.Y.row(i) - rows.design.row(i) * A.ldlt().solve(b)).squaredNorm();
    }
    CHECK(std::abs(grid.sums()[k] / sum - 1) < 1e-10 && grid.least()[k] > 0 && grid.least()[k] < 1);
  }
  CHECK(leaving(3.0) == 1.0 && leaving(0.5) == 0.5 && slack_of_part(0.4, 0.5) == 0.7);
}
