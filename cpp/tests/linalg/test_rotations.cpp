#include <cmath>
#include <vector>

#include "core/linalg/rotations.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;
using check::kRounding;

}  // namespace

TEST(packets_of_vectors_rotate_like_single_ones) {
  for (Index columns = 1; columns <= 19; ++columns)
    for (Index steps : {0, 1, 7, 8, 9, 30}) {
      std::vector<Rotation> chain;
      for (Index q = 0; q < steps; ++q) chain.push_back({std::cos(0.3 * q + 1.0), std::sin(0.3 * q + 1.0)});
      Matrix Z = check::normal_rows(steps + 1, columns, 60), expected = Z;
      for (Index c = 0; c < columns; ++c)
        for (Index q = 0; q < steps; ++q) chain[static_cast<std::size_t>(q)].apply(expected(q, c), expected(q + 1, c));
      rotate_columns(Z.data(), Z.outerStride(), columns, chain.data(), steps);
      CHECK((Z - expected).cwiseAbs().maxCoeff() < kRounding);
    }
}
