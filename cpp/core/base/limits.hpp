// Ranges of the numbers a model is given, and the tolerance of comparisons.
#pragma once

namespace kernsift {

// How small and how large weights v, targets y, ridges alpha and values k of the kernel may be: v y^2, v k^2, v k /
// alpha and k / alpha^2, the largest of what is formed of them, have a third of a double's range for each factor. A y
// may have any small value, a weight may be 0.
constexpr double kSmallest = 1e-100, kLargest = 1e100;

// Scores that differ by less than their rounding are equal: block size, order of summation and CPU must not choose.
constexpr double kTie = 1e-9;  // relative

// Below this part of the squares of the targets, what a fit leaves of them is their rounding.
constexpr double kNothingLeft = 1e-28;

}  // namespace kernsift
