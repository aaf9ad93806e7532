#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/kernel/gram.hpp"
#include "core/kernel/warp.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using namespace kernsift;

namespace {

const double kNone = std::numeric_limits<double>::quiet_NaN();

Warp of_two() {
  RowMatrix knots(2, 3), slopes(2, 2);
  knots << 0, 1, 3, -1, 1, kNone;
  slopes << 2, 1, 0.5, kNone;
  return Warp(knots, slopes);
}

}  // namespace

TEST(a_warp_rises_by_its_slopes_between_its_knots_and_is_constant_outside) {
  const Warp warp = of_two();
  CHECK(warp.n_features() == 2 && warp.n_slopes() == 3 && !warp.none() && Warp().none());
  const double x[][2] = {{-5, -5}, {0.5, 0}, {2, 1}, {9, 9}}, w[][2] = {{0, 0}, {1, 0.25}, {2.5, 0.5}, {3, 0.5}};
  for (int i = 0; i < 4; ++i) {
    double out[2];
    warp.values(x[i], out);
    CHECK(out[0] == w[i][0] && out[1] == w[i][1]);
  }
}

TEST(the_derivatives_by_the_slopes_are_those_of_differences) {
  const Warp warp = of_two();
  const RowMatrix X = check::normal_rows(50, 2, 3), G = check::normal_rows(50, 2, 4);
  const Vector slopes = (Vector(3) << 2, 1, 0.5).finished();
  const auto total = [&](const Vector& s) {
    double sum = 0;
    const Warp other = warp.with(s);
    for (Index i = 0; i < X.rows(); ++i) {
      double w[2];
      other.values(X.row(i).data(), w);
      sum += G(i, 0) * w[0] + G(i, 1) * w[1];
    }
    return sum;
  };
  Vector found = Vector::Zero(3);
  warp.add_slopes(X, G, found);
  for (Index b = 0; b < 3; ++b) {  // linear in the slopes: only rounding is left
    const Vector step = 1e-3 * Vector::Unit(3, b);
    CHECK(std::abs(found[b] - slopes[b] * (total(slopes + step) - total(slopes - step)) / 2e-3) < 1e-9);
  }
}

TEST(a_warp_needs_a_kernel_of_a_distance_and_of_its_features) {
  const auto refused = [](KernelKind kind, Index d) {
    try {
      Kernel(kind, Vector::Ones(d), 2, 1.0, Vector::Zero(d), of_two());
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(!refused(KernelKind::rbf, 2) && !refused(KernelKind::matern32, 2));
  CHECK(refused(KernelKind::linear, 2) && refused(KernelKind::polynomial, 2) && refused(KernelKind::rbf, 3));
}
