// Scores that differ by less than their rounding are equal: block size, order of summation and CPU must not choose.
#pragma once

namespace kernsift {

constexpr double kTie = 1e-9;  // relative

}  // namespace kernsift
