// Work on a triangle, column-major, in one pass over its memory: what a matrix-vector product costs once m^2 doubles
// leave the innermost cache.
#pragma once

#include "core/types.hpp"

namespace kernsift {

// C <- C + scale u u' on the lower triangle, then out = C x with the symmetric matrix it stands for: one read and one
// write of the triangle, where a rank-one update and a product after it read it twice.
void update_and_apply(MatrixRef C, const ConstVectorRef& u, double scale, const ConstVectorRef& x, VectorRef out);
// out = C x, from the lower triangle.
void apply_lower(const ConstMatrixRef& C, const ConstVectorRef& x, VectorRef out);

// X <- L^-T X for at most kFewColumns columns, reading L once for all of them.
constexpr Index kFewColumns = 3;
void back_substitute(const ConstMatrixRef& L, MatrixRef X);

}  // namespace kernsift
