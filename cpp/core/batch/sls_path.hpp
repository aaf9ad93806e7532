// Suykens' sparse LS-SVM (MATH 6.2): rows are dropped together with their kernels, and what is left is a dense LS-SVM.
//
// With mu fixed every step is a Schur downdate of the one bordered inverse: with N, r its kernel part and border,
// dropping row i:  N -= n_i n_i'/N_ii,  a -= n_i a_i/N_ii,  b -= r_i a_i/N_ii,  r -= n_i r_i/N_ii.
#pragma once

#include "core/kernel/kernels.hpp"
#include "core/select/pruning_path.hpp"

namespace kernsift {

// The leave-one-out error counts all rows: a row that was dropped is out of the model already and counts by its
// prediction; `part` as in `dense_loo_grid`. False where mu is too small for the arithmetic.
bool sls_path(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v, const ConstVectorRef& part,
              double mu, bool bias, const PruningOptions& options, PruningPath& path);

// The same with mu chosen from `mus` again at every step by leave-one-out: nothing is shared between the steps, so each
// is a dense fit. `mu` is that of the first.
bool reselected_path(const Kernel& kernel, const Rows& X, const Rows& Y, const ConstVectorRef& v,
                     const ConstVectorRef& part, const ConstVectorRef& mus, double mu, bool bias,
                     const PruningOptions& options, PruningPath& path);

}  // namespace kernsift
