#include <limits>
#include <numeric>
#include <set>

#include "core/select/pruning_path.hpp"
#include "tests/check.hpp"

using namespace kernsift;

TEST(a_pruning_step_takes_at_least_one_and_hits_the_size_asked_for) {
  PruningOptions options;
  CHECK(pruning_step(options, 10) == 1);
  options.step = 0.25;
  CHECK(pruning_step(options, 100) == 25 && pruning_step(options, 2) == 1 && pruning_step(options, 3) == 1);
  options.must_hit = 90;
  CHECK(pruning_step(options, 100) == 10 && pruning_step(options, 90) == 22);
  options = {};
  options.step = 50;
  CHECK(pruning_step(options, 10) == 9);
}

TEST(the_least_useful_are_the_smallest_and_ties_fall_to_the_oldest) {
  Vector scores(6);
  scores << 3.0, 1.0 + 1e-12, 2.0, 1.0, 5.0, 1.0 + 1e-7;
  const std::vector<Index> ages{7, 1, 4, 2, 0, 3};
  CHECK((least_useful(scores, ages, 1) == std::vector<Index>{1}));  // tied with 3, and older
  CHECK((least_useful(scores, ages, 3) == std::vector<Index>{5, 3, 1}));
  CHECK((least_useful(scores, ages, 6).size() == 6));
}

TEST(scores_that_are_no_numbers_are_the_least_useful_and_sorting_them_ends) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Index> ages(40);
  std::iota(ages.begin(), ages.end(), Index{0});
  Vector scores = Vector::LinSpaced(40, 1.0, 40.0);
  for (Index i = 0; i < 40; i += 3) scores[i] = nan;
  for (const Index count : {1, 5, 14, 30}) {
    const std::vector<Index> found = least_useful(scores, ages, count);
    CHECK(static_cast<Index>(found.size()) == count);
    CHECK(std::set<Index>(found.begin(), found.end()).size() == found.size());
  }
  for (const Index i : least_useful(scores, ages, 14)) CHECK(i % 3 == 0);
  CHECK((least_useful(Vector::Constant(3, nan), {2, 0, 1}, 1) == std::vector<Index>{1}));
}
