// Whether a saved state is still what the mathematics says it must be (MATH 8.2), as numbers, in O(m^3).
#pragma once

#include <string>
#include <vector>

#include "core/base/arrays.hpp"
#include "core/kernel/kernels.hpp"

namespace kernsift {

struct Soundness {
  std::vector<std::string> not_finite;  // arrays that hold NaN or infinity: then nothing more is looked at
  double kernel_condition = 1;          // of the kernel matrix K
  double kernel_error = 0;              // of its factor or inverse, relative to the largest entry
  double distance_error = 0;            // bound of what rounding adds to a row's squared distance, relative to k(x, x)
  double asymmetry = 0;                 // of C or P^-1, relative to the largest entry
  double smallest = 1, largest = 1;     // its eigenvalues, of all memories
  double largest_along = 0;             // its largest diagonal entry along a kernel: by the ridge at most 1 / alpha
  double least_cost = 0;
  double counted = 0, seen = 0;  // rows
};

Soundness soundness(const Arrays& state, const Kernel& kernel);

}  // namespace kernsift
