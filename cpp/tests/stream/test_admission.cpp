#include <limits>

#include "core/stream/admission.hpp"
#include "tests/check.hpp"

using namespace kernsift;

TEST(the_weakest_is_an_element_whatever_the_scores_are) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto of = [](double a, double b, double c, double newcomer,
                     double nothing = -std::numeric_limits<double>::infinity()) {
    return weakest((Vector(3) << a, b, c).finished(), newcomer, nothing);
  };
  CHECK(of(3, 1, 2, inf) == 1);
  CHECK(of(3, 1, 1 + 1e-12, inf) == 1);
  CHECK(of(3, 1 + 1e-12, 1, inf) == 1);         // a tie: the oldest
  CHECK(of(3, 1, 2, 0.5) == 3);                 // the newcomer
  CHECK(of(3, 1e-25, 1e-30, inf, 1e-20) == 1);  // both are nothing
  CHECK(of(3, 1, 2, 1e-25, 1e-20) == 3);
  CHECK(of(-1, 2, -3, inf) == 2);
  CHECK(of(1, nan, 2, inf) == 0);  // what is no number counts among the lowest
  CHECK(of(3, nan, 1, inf) == 1);
  CHECK(of(nan, nan, nan, inf) == 0);
  CHECK(of(inf, inf, inf, inf) == 0);
  CHECK(of(0, -1e-300, 0, inf) == 1);
}
