// Derivatives of kernel values with regard to the widths.
#pragma once

#include "core/kernel/kernels.hpp"

namespace kernsift {

// d/d gamma_j of sum_ir G(r, i) k(z_i, x_r), for the rows x_r of X and z_i of Z: G is X.rows() x Z.rows(). On up to
// `threads` threads with the same result for any number of them. Throws where the kernel has no such derivative.
Vector width_slopes(const Kernel& kernel, const Rows& X, const Rows& Z, const Rows& G, int threads);

}  // namespace kernsift
