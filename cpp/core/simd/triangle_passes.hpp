// Work on a triangle, column-major, in one pass over its memory: what a matrix-vector product costs once m^2 doubles
// leave the innermost cache.
#pragma once

#include "core/base/types.hpp"

namespace kernsift {

// C <- C + sum_r scales_r u_r u_r' on the lower triangle, with the columns u_r of U, one or two (kMostOwed), then
// out = C x with the symmetric matrix it stands for: one read and one write of the triangle for all of it.
constexpr Index kMostOwed = 2;
void update_and_apply(MatrixRef C, const ConstMatrixRef& U, const double* scales, const ConstVectorRef& x,
                      VectorRef out);
// out = C x, from the lower triangle.
void apply_lower(const ConstMatrixRef& C, const ConstVectorRef& x, VectorRef out);

// X <- L^-T X for at most kFewColumns columns, reading L once for all of them.
constexpr Index kFewColumns = 3;
void back_substitute(const ConstMatrixRef& L, MatrixRef X);

// X <- L^-1 X for any number of columns; a block of them is worth it.
void forward_substitute(const ConstMatrixRef& L, MatrixRef X);

}  // namespace kernsift
