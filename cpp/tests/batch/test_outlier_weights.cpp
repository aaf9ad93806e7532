#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/batch/outlier_weights.hpp"
#include "tests/check.hpp"

namespace {
using namespace kernsift;
}

TEST(a_row_of_weight_two_is_two_rows_of_the_median) {
  const Vector values = (Vector(4) << 3.0, 1.0, 7.0, 5.0).finished();
  CHECK(weighted_median(values, Vector::Ones(4)) == 4.0);
  CHECK(weighted_median(values, (Vector(4) << 2.0, 1.0, 1.0, 1.0).finished()) == 3.0);
}

TEST(weights_count_as_rows_in_every_median) {
  std::mt19937_64 engine(51);
  for (int trial = 0; trial < 200; ++trial) {
    const Index n = 1 + static_cast<Index>(engine() % 8);
    Vector values(n), weights(n);
    std::vector<double> rows;
    for (Index i = 0; i < n; ++i) {
      values[i] = static_cast<double>(engine() % 6);
      weights[i] = static_cast<double>(1 + engine() % 3);
      rows.insert(rows.end(), static_cast<std::size_t>(weights[i]), values[i]);
    }
    std::sort(rows.begin(), rows.end());
    const std::size_t half = rows.size() / 2;
    CHECK(weighted_median(values, weights) ==
          (rows.size() % 2 == 1 ? rows[half] : 0.5 * (rows[half - 1] + rows[half])));
  }
}

TEST(weights_fall_between_two_and_a_half_and_three_scales) {
  Vector e(101);
  std::mt19937_64 engine(52);
  std::normal_distribution<double> normal;
  for (double& x : e) x = normal(engine);
  e.head(3) << 30.0, -3.0, 2.7;
  const Vector ones = Vector::Ones(101), v = outlier_weights(e, ones);
  const double centre = weighted_median(e, ones);
  const double scale = 1.483 * weighted_median((e.array() - centre).abs(), ones);  // Suykens et al. 2002
  for (Index i = 0; i < 101; ++i) {
    const double r = std::abs(e[i]) / scale;
    const double expected = r <= 2.5 ? 1.0 : std::max((3.0 - r) / 0.5, 1e-4);
    CHECK(std::abs(v[i] - expected) <= 1e-12);
  }
}

TEST(an_outlier_loses_its_weight_and_an_exact_majority_keeps_all) {
  Matrix e = Matrix::Zero(7, 1);
  e(0, 0) = 1.0;
  CHECK((outlier_weights(e, Vector::Ones(7)).array() == 1.0).all());
  e << 30, -1, 1, -1, 1, -1, 1;
  const Vector v = outlier_weights(e, Vector::Ones(7));
  CHECK(v[0] == 1e-4 && (v.tail(6).array() == 1.0).all());
  Matrix beside(7, 2);  // the worst of the outputs counts
  beside << Matrix::Zero(7, 1), e;
  CHECK(outlier_weights(beside, Vector::Ones(7)) == v);
}

TEST(robust_weights_agree_with_the_fit_they_make) {
  const Vector y = (Vector(8) << 0.1, -0.2, 0.15, 0.05, -0.1, 0.0, 9.0, -0.05).finished();
  const auto fit = [&](const Vector& v) { return Matrix((y.array() - v.dot(y) / v.sum()).matrix()); };
  const RobustWeights found = robust_weights(fit, Vector::Ones(8), 100);
  CHECK(found.change <= kSettled && found.factor[6] == 1e-4);
  CHECK((outlier_weights(fit(found.factor), Vector::Ones(8)) - found.factor).cwiseAbs().maxCoeff() <= kSettled);
  CHECK(robust_weights(fit, Vector::Ones(8), 1).change > kSettled);
}
