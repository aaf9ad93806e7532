// Deterministic samples for the tests.
#pragma once

#include <random>

#include "core/base/types.hpp"

namespace check {

inline kernsift::RowMatrix normal_rows(kernsift::Index n, kernsift::Index d, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  kernsift::RowMatrix X(n, d);
  for (kernsift::Index i = 0; i < n; ++i)
    for (kernsift::Index j = 0; j < d; ++j) X(i, j) = normal(engine);
  return X;
}

inline kernsift::Matrix symmetric(kernsift::Index n, unsigned seed) {
  const kernsift::Matrix A = normal_rows(n, n, seed);
  return A + A.transpose();
}

constexpr double kRounding = 1e-13;  // a few hundred units in the last place of sums of at most 40 terms of size 1

}  // namespace check
