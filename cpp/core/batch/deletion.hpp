// Over-select, then delete (BEYOND 2): which elements of a basis go first.
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"
#include "core/ridge/ridge_problem.hpp"

namespace kernsift {

struct Deletions {
  std::vector<Index> order;    // from the first deleted to the last, then those that stay, in their order
  std::vector<double> scores;  // of those deleted, each when it went
};

// From the elements of G = K'VK and K_mm those that cost least go, max(1, fraction of what is there) at a time, until
// `target` are left [BEYOND B4]. The cost of one deletion is beta_i^2 / [P^-1]_ii, P = G - ss'/v + alpha K_mm. G and K:
// lower triangles, overwritten.
Deletions deletion_order(MatrixRef G, MatrixRef K, Matrix z, double alpha, Index target, double fraction);

// The same from sums over rows in kernel coordinates of the vectors.
Deletions deletion_order(const Kernel& kernel, const Rows& vectors, const RidgeSums& sums, bool bias, double alpha,
                         Index target, double fraction);
// Doubles it takes, for n vectors.
double deletion_memory(Index n, Index d, Index outputs);

}  // namespace kernsift
