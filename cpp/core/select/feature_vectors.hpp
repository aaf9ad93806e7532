// Feature vector selection: the patterns whose span reconstructs all patterns best, greedily (Baudat and Anouar's FVS)
// or among a few random candidates judged on a few random patterns (EFVS, Cawley and Talbot).
//
// With E the kernel matrix of the residuals phi - projection of phi, adding pattern r raises the weighted mean of
// k_Si' K_SS^-1 K_Si / k_ii by  sum_i v_i E_ri^2 / (k_ii E_rr) / sum_i v_i          [MATH 5.1]
// so no inverse is ever formed. One step: R and T are drawn from the patterns not yet eliminated (a pattern whose
// residual is below candidate_tol k_ii is found so when it is drawn, and another is drawn in its place: R and T are
// uniform on the set that is left, as if all had been looked at); r in R with the largest gain on T joins.
//
// Three forms that make the same choices:
//   dense   n_candidates and n_eval unlimited (FVS): E itself, O(l^2) a vector for l patterns;
//   cached  the coordinates of all patterns, brought up to date a panel of vectors at a time: O(l (n + d)) a vector,
//           memory n l. The error is exact;
//   lazy    the coordinates of the drawn patterns only: O((rho + nu) n (n + d)) a vector, independent of l. The error
//           is estimated from T, times the part of the weight that is not eliminated.
#pragma once

#include <cstdint>
#include <vector>

#include "core/select/selectable_rows.hpp"

namespace kernsift {

enum class SelectionForm { dense, cached, lazy };

struct FeatureVectorSettings {
  Index n_candidates = 59;        // rho; 0: all
  Index n_eval = 59;              // nu; 0: all
  Index max_basis = 0;            // N
  double candidate_tol = 0;       // epsilon
  double reconstruction_tol = 0;  // tau
  std::uint64_t seed = 0;
  SelectionForm form = SelectionForm::cached;
};

struct FeatureVectors {
  std::vector<Index> chosen;  // patterns, in the order chosen
  std::vector<double> error;  // 1 - J after each
};

// weight: v > 0 of each pattern.
FeatureVectors select_feature_vectors(SelectableRows& patterns, const ConstVectorRef& weight,
                                      const FeatureVectorSettings& settings);

// Doubles it takes to choose among n patterns of d features.
double feature_vectors_memory(Index n, Index d, const FeatureVectorSettings& settings);

}  // namespace kernsift
