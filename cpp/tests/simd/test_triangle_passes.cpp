// The hand-written passes over triangles, at every size around a packet and a column group.
#include <cmath>

#include "core/simd/triangle_passes.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;
using check::kRounding;
using check::symmetric;

}  // namespace

TEST(one_pass_updates_and_multiplies) {
  constexpr double kScales[kMostOwed] = {-0.7, 0.4};
  for (Index n = 0; n <= 40; ++n)
    for (Index owed = 1; owed <= kMostOwed; ++owed) {
      const Matrix C = symmetric(n, 51), U = check::normal_rows(n, owed, 52);
      const Vector x = check::normal_rows(n, 1, 53);
      Matrix lower = C;
      lower.triangularView<Eigen::StrictlyUpper>().setConstant(1e300);  // never read
      Vector out(n);
      apply_lower(lower, x, out);
      CHECK(n == 0 || (out - C * x).cwiseAbs().maxCoeff() < kRounding * 100);
      update_and_apply(lower, U, kScales, x, out);
      Matrix updated = C;
      for (Index r = 0; r < owed; ++r) updated += kScales[r] * U.col(r) * U.col(r).transpose();
      CHECK(n == 0 || (out - updated * x).cwiseAbs().maxCoeff() < kRounding * 100);
      for (Index j = 0; j < n; ++j)
        for (Index i = j; i < n; ++i) CHECK(std::abs(lower(i, j) - updated(i, j)) < kRounding * 100);
    }
}

TEST(back_substitution_for_few_columns) {
  for (Index n = 1; n <= 40; ++n)
    for (Index columns = 1; columns <= kFewColumns; ++columns) {
      Matrix L = 0.2 * Matrix(check::normal_rows(n, n, 58));
      L.diagonal().array() = 2.0;
      Matrix X = check::normal_rows(n, columns, 59);
      const Matrix expected = L.triangularView<Eigen::Lower>().transpose().solve(X);
      Matrix spoiled = L;
      spoiled.triangularView<Eigen::StrictlyUpper>().setConstant(1e300);
      back_substitute(spoiled, X);
      CHECK((X - expected).cwiseAbs().maxCoeff() < kRounding * (1.0 + expected.cwiseAbs().maxCoeff()) * 100);
    }
}

TEST(forward_substitution_for_any_number_of_columns) {
  for (const Index n : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 127, 128, 129, 150, 300})
    for (const Index columns : {1, 2, 3, 7, 8, 9, 19, 64}) {
      Matrix L = Matrix(check::normal_rows(n, n, 61)) / std::sqrt(static_cast<double>(n + 1));
      L.diagonal().array() = 2.0;
      Matrix X = check::normal_rows(n, columns, 62);
      const Matrix before = X;
      Matrix spoiled = L;
      spoiled.triangularView<Eigen::StrictlyUpper>().setConstant(1e300);
      forward_substitute(spoiled, X);
      const Matrix residual = Matrix(L.triangularView<Eigen::Lower>()) * X - before;
      CHECK(n == 0 || residual.cwiseAbs().maxCoeff() < kRounding * (1.0 + X.cwiseAbs().maxCoeff()) * 100);
    }
}

TEST(substitution_leaves_the_rows_behind_the_triangle_alone) {
  constexpr Index kRows = 24, kColumns = 9;
  for (Index n = 1; n < kRows; ++n) {
    Matrix L = Matrix::Constant(kRows, kRows, std::nan(""));
    L.topLeftCorner(n, n) = Matrix::Identity(n, n) * 2.0;
    Matrix X = Matrix::Ones(kRows, kColumns), Y = X;
    forward_substitute(L.topLeftCorner(n, n), X.topRows(n));
    back_substitute(L.topLeftCorner(n, n), Y.topLeftCorner(n, kFewColumns));
    CHECK((X.topRows(n).array() == 0.5).all() && (X.bottomRows(kRows - n).array() == 1.0).all());
    CHECK((Y.topLeftCorner(n, kFewColumns).array() == 0.5).all() && (Y.bottomRows(kRows - n).array() == 1.0).all());
  }
}
