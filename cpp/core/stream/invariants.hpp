// What holds of every sound state (MATH 8.2), asserted after every row or run of rows where assertions
// are on: a std::logic_error names the invariant and the value found. Elsewhere nothing of it is compiled.
#pragma once

#include <sstream>
#include <stdexcept>

#include "core/base/types.hpp"

namespace kernsift::invariants {

#ifdef NDEBUG
constexpr bool kChecked = false;
#else
constexpr bool kChecked = true;
#endif

// Comparisons are written so that NaN does not hold.
inline void require(bool holds, const char* invariant, double value) {
  if (holds) return;
  std::ostringstream text;
  text.precision(17);
  text << "invariant broken: " << invariant << ", found " << value;
  throw std::logic_error(text.str());
}

// The row as it is looked at: its squared distance to the span before it is clipped at 0, and w'C w = Delta - 1/v.
inline void check_distance(double delta, double k_self) {
  constexpr double kRounding = 1e-12;
  if constexpr (kChecked) require(delta >= -kRounding * k_self, "delta >= -1e-12 k(x, x)", delta / k_self);
}
inline void check_gain(double gain, double v) {
  constexpr double kRounding = 1e-9;  // of 1/v: w'C w is a sum of terms of either sign as large as |w|^2 / alpha
  if constexpr (kChecked)             // a row that is forgotten has minus its weight
    if (!(v < 0)) require(v * gain >= -kRounding, "Delta >= 1/v", 1.0 + v * gain);
}

// The inverse: its diagonal is positive and, along the last `penalised` coordinates, at most 1/alpha.
template <class Inverse>
void check_inverse(const Inverse& C, Index penalised, double alpha) {
  constexpr double kRounding = 1e-6;
  if constexpr (kChecked) {
    for (Index i = 0; i < C.size(); ++i) {
      const double c = C.settled_diagonal(i);
      require(c > 0, "C_ii > 0", c);
      if (i >= C.size() - penalised) require(alpha * c <= 1 + kRounding, "alpha C_ii <= 1", alpha * c);
    }
  }
}

inline void check_solution(const ConstMatrixRef& coefficients, const Vector& cost) {
  if constexpr (kChecked) {
    require(coefficients.allFinite(), "finite coefficients", coefficients.sum());
    for (Index o = 0; o < cost.size(); ++o) require(cost[o] >= 0, "xi >= 0", cost[o]);
    require(cost.allFinite(), "finite cost", cost.sum());
  }
}

}  // namespace kernsift::invariants
