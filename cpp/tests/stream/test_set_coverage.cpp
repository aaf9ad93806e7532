// Bounds on the odds of a row's own class.
#include <cmath>

#include "core/stream/set_coverage.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {
using namespace kernsift;

double part_inside(double coverage, double scale) {
  SetCoverage sets(SetCoverage::fresh());
  const Vector noise = check::normal_rows(20000, 1, 11) * scale;
  int inside = 0;
  for (Index r = 0; r < noise.size(); ++r) {
    const double own = 1.0 / (1.0 + std::exp(noise[r] + (r > 10000 ? 2.0 * scale : 0.0)));
    inside += own >= sets.least_probability(coverage);
    sets.learn(own);
  }
  return inside / 20000.0;
}
}  // namespace

TEST(sets_hold_their_part_of_the_rows_whatever_the_odds_are) {
  // Steps are 0.03 at least, so that the part of 20,000 rows is off by the way of the bound over 600: by less than 5.
  for (const double coverage : {0.5, 0.8, 0.9, 0.95, 0.99})
    for (const double scale : {0.01, 1.0, 5.0}) {
      const double part = part_inside(coverage, scale);
      CHECK(part > coverage - 0.01);
      // where odds differ by less than a step, the bounds of several levels cross and the largest counts
      CHECK(part < coverage + (scale < 0.1 ? 0.05 : 0.01));
    }
}

TEST(certain_and_impossible_classes_leave_numbers_finite) {
  SetCoverage sets(SetCoverage::fresh());
  for (int i = 0; i < 3000; ++i) sets.learn(i % 2 == 0 ? 1.0 : 0.0);
  CHECK(sets.state().allFinite());
  CHECK(sets.least_probability(0.99) == 0);  // every class is in the set
  for (int i = 0; i < 30000; ++i) sets.learn(1.0);
  CHECK(sets.state().allFinite());
  CHECK(sets.least_probability(0.5) > 0.99);
}

TEST(a_larger_coverage_needs_no_larger_probability) {
  SetCoverage sets(SetCoverage::fresh());
  const Vector noise = check::normal_rows(500, 1, 3);
  double last = 1.0;
  for (Index r = 0; r < 500; ++r) sets.learn(1.0 / (1.0 + std::exp(noise[r])));
  for (double coverage = 0.02; coverage < 0.999; coverage += 0.02) {
    CHECK(sets.least_probability(coverage) <= last);
    last = sets.least_probability(coverage);
  }
}
