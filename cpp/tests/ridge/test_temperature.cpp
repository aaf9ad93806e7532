// Probabilities from scores.
#include <cmath>

#include "core/ridge/temperature.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {
using namespace kernsift;
}

TEST(one_column_of_scores_is_two_classes_and_rows_add_to_one) {
  const RowMatrix f = check::normal_rows(9, 1, 3) * 400.0;
  RowMatrix both(9, 2), p(9, 2), q(9, 2);
  both << -f, f;
  softmax(f, 1.5, p);
  softmax(both, 1.5, q);
  CHECK((p - q).cwiseAbs().maxCoeff() == 0);
  for (Index r = 0; r < 9; ++r) CHECK(std::abs(p.row(r).sum() - 1) < 1e-15);
}

TEST(a_temperature_of_a_batch_minimises_the_weighted_log_loss) {
  const Index n = 80;
  const RowMatrix f = check::normal_rows(n, 3, 5);
  const Vector v = check::normal_rows(n, 1, 6).cwiseAbs();
  Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1> codes(n);
  for (Index r = 0; r < n; ++r) f.row(r).maxCoeff(&codes[r]);
  for (Index r = 0; r < n; r += 4) codes[r] = r % 3;  // some are wrong
  RowMatrix p(n, 3);
  const auto loss = [&](double log_t) {
    softmax(f, std::exp(log_t), p);
    double sum = 0.5 * log_t * log_t;
    for (Index r = 0; r < n; ++r) sum -= v[r] * std::log(p(r, codes[r]));
    return sum;
  };
  const double best = std::log(fit_temperature(f, codes, v));
  CHECK(loss(best) <= std::min(loss(best - 1e-3), loss(best + 1e-3)));
  for (Index r = 0; r < n; ++r) f.row(r).maxCoeff(&codes[r]);
  CHECK(fit_temperature(f * 1e-9, codes, v * 1e9) < std::exp(7.1));  // separable: the range ends it
}

TEST(a_temperature_of_a_stream_moves_towards_that_of_the_batch) {
  const Index n = 4000;
  const RowMatrix f = check::normal_rows(n, 1, 7);
  const RowMatrix noise = check::normal_rows(n, 1, 8);
  RowMatrix targets(n, 1);
  Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1> codes(n);
  for (Index r = 0; r < n; ++r) {
    codes[r] = f(r, 0) + noise(r, 0) > 0;
    targets(r, 0) = codes[r] ? 1.0 : -1.0;
  }
  Temperature stream;
  for (Index r = 0; r < n; ++r) stream.learn(f.row(r), targets.row(r), 1.0);
  // it forgets with a memory of a thousand rows: a standard deviation of about 1 / sqrt(1000 x information of a row)
  CHECK(std::abs(stream.log_t - std::log(fit_temperature(f, codes, Vector::Ones(n)))) < 0.2);
}
