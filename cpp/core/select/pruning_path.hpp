// A reduction path: nested models of falling size, and the rules that make it.
#pragma once

#include <vector>

#include "core/base/types.hpp"

namespace kernsift {

struct PruningOptions {
  bool by_cost = true;  // else by the size of the coefficient, the papers' criterion
  double step = 1;      // kernels removed between two solutions; below 1, a fraction of those left
  Index must_hit = 0;   // a size that has to be recorded
};

struct PruningPath {
  std::vector<Index> order;   // the model of size n has the kernels order[0..n)
  std::vector<Index> sizes;   // recorded sizes, descending to 1
  Matrix cost;                // recorded x outputs
  Vector loo;                 // recorded: weighted mean square of the leave-one-out residuals
  std::vector<double> coef;   // recorded models one after another, kernels in ascending position, outputs fastest
  Matrix intercept;           // recorded x outputs
  std::vector<double> alpha;  // recorded
};

// Kernels to remove at once from n (at least one, at most n - 1).
Index pruning_step(const PruningOptions& options, Index n);

// Positions of the `count` smallest scores, descending. Ties with the smallest within 1e-9 relative, which isolated
// points make exactly, fall to the lowest age.
std::vector<Index> least_useful(const ConstVectorRef& scores, const std::vector<Index>& ages, Index count);

}  // namespace kernsift
