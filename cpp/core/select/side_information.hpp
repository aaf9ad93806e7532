// Incomplete Cholesky factorisation with side information (Bach & Jordan 2005): pivots that explain the kernel matrix
// and the targets together.
#pragma once

#include <vector>

#include "core/select/selectable_rows.hpp"

namespace kernsift {

struct SideInformationSettings {
  Index max_basis;
  Index ahead;     // directions beyond the pivots in which the kernel matrix is known
  double balance;  // of the targets against the kernel matrix, 0 to 1
  double tol;      // least squared distance to the span of a pivot, relative to k(x, x)
  bool fit_intercept;
};

// The pivots in order. With E = K - GG' what the columns G of the pivots leave of the kernel matrix, and R what they
// leave of the targets (outputs x patterns) as regressors, each is the row that lowers
//   (1 - balance) trace(VE)/trace(VK) + balance |R V^1/2|^2/|Y V^1/2|^2
// most, V the weights. The column of a row, E_.i/sqrt(E_ii), is not computed to judge it: E is known as AA' in a few
// directions ahead, those of the rows that the pivots and A leave furthest away.
std::vector<Index> side_information_pivots(SelectableRows& patterns, const ConstVectorRef& weight,
                                           const ConstMatrixRef& targets, const SideInformationSettings& settings);

// Doubles it takes: two rows' coordinates in the directions of the pivots and ahead, what is prepared and the targets.
double side_information_memory(Index rows, Index outputs, Index d, const SideInformationSettings& settings);

}  // namespace kernsift
