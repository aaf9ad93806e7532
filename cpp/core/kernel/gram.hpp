// Kernel matrices of batches: what the systems that keep all their rows start from.
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"

namespace kernsift {

// Prepared rows [first, first + count) as dictionary elements, in their order.
Panels panels_of(const PreparedRows& rows, Index first, Index count, Index n_features);

// Rows `which` of X, copied.
RowMatrix gather(const Rows& X, const std::vector<Index>& which);

// Lower triangle of the kernel matrix of the rows; what is above the diagonal has no meaning.
// `storage` becomes round_up(n, kPanel) x n: the padding rows too have no meaning.
void gram_lower(const Kernel& kernel, const PreparedRows& rows, Matrix& storage);

// out(i, r) = k(element i, row first + r), without padding.
void kernel_columns(const Kernel& kernel, const Panels& elements, const PreparedRows& rows, Index first, Index count,
                    Matrix& padded, MatrixRef out);

// out(r, o) = intercept(o) + sum_i coef(i, o) k(vector i, row r), without an n x m matrix.
void expand_rows(const Kernel& kernel, const Rows& vectors, const Rows& coef, const ConstVectorRef& intercept,
                 const Rows& X, int threads, RowsOut out);

}  // namespace kernsift
