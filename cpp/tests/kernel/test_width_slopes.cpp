#include <cmath>
#include <stdexcept>

#include "core/kernel/gram.hpp"
#include "core/kernel/width_slopes.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

using namespace kernsift;

TEST(the_slopes_of_widths_are_those_of_differences_for_any_number_of_threads) {
  const Index n = 150, m = 11, d = 3;
  const RowMatrix X = check::normal_rows(n, d, 91), Z = check::normal_rows(m, d, 92), G = check::normal_rows(n, m, 93);
  const Vector gamma = (Vector(d) << 0.3, 0.7, 1.1).finished();
  for (const KernelRow& row : kernel_table()) {
    const auto kernel = [&](const Vector& g) { return Kernel(row.kind, g, 3, 1.0, Vector::Zero(d)); };
    if (row.slope == nullptr) {
      bool thrown = false;
      try {
        width_slopes(kernel(gamma), X, Z, G, 1);
      } catch (const std::invalid_argument&) {
        thrown = true;
      }
      CHECK(thrown);
      continue;
    }
    const auto sum = [&](const Vector& g) {
      double total = 0;
      for (Index i = 0; i < m; ++i) {
        RowMatrix values(n, 1);
        expand_rows(kernel(g), Z.row(i), Matrix::Ones(1, 1), Vector::Zero(1), X, 1, values);
        total += values.col(0).dot(G.col(i));
      }
      return total;
    };
    const Vector slopes = width_slopes(kernel(gamma), X, Z, G, 1);
    CHECK(slopes == width_slopes(kernel(gamma), X, Z, G, 3));
    for (Index j = 0; j < d; ++j) {
      const Vector step = 1e-5 * Vector::Unit(d, j);
      CHECK(std::abs(slopes[j] - (sum(gamma + step) - sum(gamma - step)) / 2e-5) < 1e-6);
    }
  }
}
