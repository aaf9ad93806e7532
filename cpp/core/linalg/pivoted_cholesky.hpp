// Pivoted Cholesky of a symmetric positive semi-definite matrix, in place and blocked (the scheme of LAPACK's pstrf).
#pragma once

#include <vector>

#include "core/base/types.hpp"

namespace kernsift {

// On entry the lower triangle of A; on exit L of rank r in its first r columns (all n rows) with
// A[order, order] = L L' + residual, every diagonal entry of the residual <= floor. `order` lists the rows as pivoted.
// Among equal pivots the first row wins. Returns r.
Index pivoted_cholesky(MatrixRef A, double floor, std::vector<Index>& order);

}  // namespace kernsift
