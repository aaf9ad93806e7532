// The scalars of one row against the current model, shared by both engines.
#pragma once

#include <cmath>

#include "core/base/types.hpp"

namespace kernsift {

// Every decision about the row is a function of these (MATH 1.3).
struct RowScalars {
  double delta;       // squared distance of phi(x) to the span
  double Delta;       // 1/v + w'C w
  double den;         // delta + alpha Delta
  double leverage;    // v w'C w = v Delta - 1
  double weight;      // v
  double usefulness;  // decrease of the cost if the row becomes a kernel, against a normal step
  double loss;        // |h|^2 / Delta: what the trace of the inverse loses at a normal step
  double trace;       // a bound on that trace
  double rise;        // |rho|^2 / Delta: by how much the cost grows at a normal step

  // False where the inverse has turned indefinite: learning the row would only harm it.
  bool sound() const { return Delta > 0 && den > 0 && std::isfinite(usefulness) && bounded(loss, trace, rise); }

  // Where weights lie further apart than a double reaches, rounding has made an inverse from which a row, or a kernel
  // that leaves, would take more than there is: soon there would be infinities in it.
  static bool bounded(double loss, double trace, double rise) {
    constexpr double kRounding = 2.0;
    return loss <= kRounding * trace && std::isfinite(rise);
  }
};

}  // namespace kernsift
