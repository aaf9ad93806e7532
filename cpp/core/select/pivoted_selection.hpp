// Choosing basis elements by pivots of the kernel matrix: partial Cholesky factorisations that differ in who comes
// next.
#pragma once

#include <cstdint>
#include <vector>

#include "core/select/selectable_rows.hpp"

namespace kernsift {

struct PivotedBasis {
  std::vector<Index> chosen;
  Matrix L;  // lower triangular, K_mm = L L'
};

// One pass in the order of the patterns: each whose squared distance to the span of those taken before exceeds
// tol k(x, x) is taken, until L is full (Engel's approximate linear dependence [Engel ald]). Its rows become those of
// the factor, as far as the diagonal; what lies above is left alone. Memory beside it independent of l.
std::vector<Index> independent_rows(SelectableRows& patterns, double tol, int threads, RowsOut L);

// Pivoted Cholesky: the pattern furthest from the span is next; the first of equals. The pivots of
// pivoted_cholesky.hpp, without the matrix: it makes the kernels of its pivots only, memory and time O(l n) and O(l
// n^2) for n of l patterns. The other has the whole matrix and needs all of it: in place, with the matrix products of a
// right-looking update, which a recursion that waits for columns cannot have. So they are two.
PivotedBasis greedy_pivots(SelectableRows& patterns, double tol, Index max_basis);

// Randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2022): a pattern is next with probability proportional to
// v_i E_ii. Drawn `block` at a time and accepted with the probability that is left of it at its turn, which gives the
// same distribution (Epperly, Tropp & Webber 2024).
PivotedBasis random_pivots(SelectableRows& patterns, const ConstVectorRef& weight, double tol, Index max_basis,
                           Index block, std::uint64_t seed);

// Doubles they take. L itself, its K and W, the vectors and what is prepared of them; of pivots the coordinates of all
// rows looked at, L twice as it is given back, and the columns and errors of a block.
double independent_rows_memory(Index max_basis, Index d);
double pivoted_memory(Index rows, Index max_basis, Index d, Index block);

}  // namespace kernsift
