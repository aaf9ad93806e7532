// Products, solutions and factors of large triangles, in their place and shared out to threads: blocks cut by size
// alone, so that the results are the same bits for any number of threads. Of symmetric matrices and of R only the lower
// triangle is read and written: what lies above it may be another matrix.
#pragma once

#include "core/base/types.hpp"

namespace kernsift {

// A <- A + scale W W'.
void add_outer(const ConstMatrixRef& W, double scale, int threads, MatrixRef A);
// K <- L^-1 K, L a lower triangle as numpy has it, row after row.
void solve_columns(const Rows& L, int threads, MatrixRef K);
// A <- R, A = R R'; false where a pivot is not positive to working precision.
bool cholesky(MatrixRef A, int threads);
// A <- L^-1 A L^-T.
void congruence(const Rows& L, int threads, MatrixRef A);

}  // namespace kernsift
