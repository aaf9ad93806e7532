#include <cmath>

#include "core/ridge/gcv.hpp"
#include "tests/check.hpp"

using namespace kernsift;

TEST(the_ridge_has_a_floor_and_a_ceiling) {
  const Vector h = (Vector(3) << 4.0, 2.0, 1.0).finished(), squares = h.cwiseAbs2();
  // y lies in the span: no noise, and the score falls to its end
  CHECK(ridge_fixed_point({h, squares, 0.0, 10.0, 1.0}, 1.0, 1e-6, 1000, 1e-9) == 4e-6);
  // y is orthogonal to every column: nothing to learn, and no NaN
  const Vector none = Vector::Zero(3);
  CHECK(std::isfinite(ridge_fixed_point({h, none, 1.0, 10.0, 1.0}, 1.0)));
  CHECK(std::isfinite(ridge_minimum({h, none, 1.0, 10.0, 1.0}, 1.0)));
  const Vector weak = Vector::Constant(3, 1e-9);
  CHECK(ridge_fixed_point({h, weak, 1.0, 10.0, 1.0}, 1.0, 1e-6, 5000, 1e-9) == 4e8);
}
