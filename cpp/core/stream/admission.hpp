// When a row becomes a kernel: the papers' rules on (delta, usefulness), and which kernel leaves for it.
#pragma once

#include <string>

#include "core/kernel/dictionary.hpp"
#include "core/stream/journal.hpp"

namespace kernsift {

enum class Rule { product, two_part, per_sample, novelty };
Rule admission_rule(const std::string& name);  // throws std::invalid_argument
const char* rule_name(Rule rule);

// Whether delta, the squared distance of a row to the span, is known well enough for the row to become a kernel.
//
// With a = K^-1 k the coefficients of its projection, the rounding of the factor of K_mm leaves in delta an error of
// eps (k(x, x) + sum_j a_j^2 k(x_j, x_j)), which grows without bound where the kernels are nearly dependent and the row
// lies beyond them, however large their pivots. It may take a part of delta that is itself proportional to delta: the
// closer a kernel, the more it amplifies the errors of those that follow. A fixed part starves the dictionary of
// ordered rows, because kernels close together leave no room for distant ones. `resolution` is in units of k(x, x)^2.
constexpr bool is_resolved(double delta, double k_self, double coefficient_squares, double resolution) {
  constexpr double kLeastDelta = 1e-100;  // below, P^-1 and the coefficients leave the range of a double
  return delta * delta > resolution * k_self * (k_self + coefficient_squares) && delta > kLeastDelta;
}

// The same for a row and a dictionary. `projection` computes a, which costs a back-substitution: it is called only
// where the bound sum_j a_j^2 k(x_j, x_j) <= |L^-1|^2 k(x, x) max_j k(x_j, x_j) does not decide. `inverse_norm` as
// KernelSpan estimates it.
template <class Projection>
bool is_resolved(double delta, double k_self, const Dictionary& dictionary, double inverse_norm, double resolution,
                 const Projection& projection) {
  constexpr double kSafety = 100;  // by which the estimate may be too small
  if (is_resolved(delta, k_self, kSafety * inverse_norm * k_self * dictionary.largest_self(), resolution)) return true;
  if (!is_resolved(delta, k_self, 0.0, resolution)) return false;  // whatever the coefficients
  return is_resolved(delta, k_self, dictionary.weighted_squares(projection()), resolution);
}

struct Admission {
  Rule rule;
  double novelty_tol;     // TOL1, relative to k(x, x)
  double usefulness_tol;  // TOL2, relative to the variance of the targets

  // delta: squared distance to the span; usefulness: decrease of the cost; t: rows seen, this one included.
  // Returns rejected_novelty, rejected_usefulness, or admitted (if there is room and the distance is resolved).
  Outcome judge(double delta, double k_self, double usefulness, double t, double variance) const;
};

// The element to delete: the oldest among those within 1e-9 of the lowest score, because isolated points tie
// exactly and rounding must not choose between them, nor between those whose score is `nothing` or less. Returns
// scores.size() when the newcomer, whose score is `newcomer` and who is the youngest, is the one. A score that is no
// number counts among the lowest.
Index weakest(const ConstVectorRef& scores, double newcomer, double nothing);

}  // namespace kernsift
