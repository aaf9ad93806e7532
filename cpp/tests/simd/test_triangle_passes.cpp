// The hand-written passes over triangles, at every size around a packet and a column group.
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
