// When a row becomes a kernel: the papers' rules on (delta, usefulness) and what became of each row.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "core/base/types.hpp"

namespace kernsift {

enum class Rule { product, two_part, per_sample, novelty };
Rule admission_rule(const std::string& name);  // throws std::invalid_argument
const char* rule_name(Rule rule);

// What became of a row. The order is part of the Python surface (`audit_`).
enum class Outcome : std::uint8_t {
  rejected_novelty = 0,     // inside the span of the dictionary up to novelty_tol: a normal step
  rejected_usefulness = 1,  // novel, but lowers the cost too little: a normal step
  admitted = 2,             // became a kernel
  swapped = 3,              // became a kernel, the least useful kernel left
  bounced = 4,              // admitted at the cap, but itself the least useful: a normal step (MATH 1.7)
  refused = 5,              // passed the rule, but too close to the span for the arithmetic
  ignored = 6,              // weight zero
  frozen = 7,               // learned after the dictionary was frozen: a normal step, nothing asked
};
constexpr int kOutcomes = 8;
using Counters = std::array<std::int64_t, kOutcomes>;

// Weighted mean and variance of the targets as they arrive (West's form of Welford's recursion).
class TargetMoments {
 public:
  explicit TargetMoments(Index n_outputs) : mean_(Vector::Zero(n_outputs)) {}
  void add(const double* y, double weight);
  // Population variance, summed over the outputs: the unit of usefulness_tol. Targets that differ by less than 1e-10 of
  // their size count as differing by that: of a constant only rounding is left, and it must not become kernels.
  double variance() const {
    return weight_ > 0 ? std::max(squares_ / weight_, kRounding * mean_.squaredNorm()) : 0.0;
  }

  // Of the squares of the targets, and so of any cost, what is rounding.
  double rounding() const { return kRounding * (squares_ + weight_ * mean_.squaredNorm()); }

  double weight() const { return weight_; }
  // The past counts less: all weights times `factor`.
  void fade(double factor) {
    weight_ *= factor;
    squares_ *= factor;
  }

  const Vector& mean() const { return mean_; }
  double squares() const { return squares_; }
  void assign(double weight, const ConstVectorRef& mean, double squares) {
    weight_ = weight;
    mean_ = mean;
    squares_ = squares;
  }

 private:
  static constexpr double kRounding = 1e-20;
  Vector mean_;
  double weight_ = 0, squares_ = 0;
};

// Whether delta, the squared distance of a row to the span, is known well enough for the row to become a kernel.
//
// With a = K^-1 k the coefficients of its projection, the rounding of the factor of K_mm leaves in delta an error of
// eps (k(x, x) + sum_j a_j^2 k(x_j, x_j)), which grows without bound where the kernels are nearly dependent and the row
// lies beyond them, however large their pivots. It may take a part of delta that is itself proportional to delta: the
// closer a kernel, the more it amplifies the errors of those that follow. A fixed part starves the dictionary of ordered
// rows, because kernels close together leave no room for distant ones. `resolution` is in units of k(x, x)^2.
constexpr bool is_resolved(double delta, double k_self, double coefficient_squares, double resolution) {
  constexpr double kLeastDelta = 1e-100;  // below, P^-1 and the coefficients leave the range of a double
  return delta * delta > resolution * k_self * (k_self + coefficient_squares) && delta > kLeastDelta;
}

// The same with the bound sum_j a_j^2 k(x_j, x_j) <= |L^-1|^2 k(x, x) max_j k(x_j, x_j) in place of the coefficients, which
// cost a back-substitution: true only where they cannot say otherwise. `inverse_norm` as KernelSpan estimates it.
constexpr bool is_surely_resolved(double delta, double k_self, double inverse_norm, double largest_self,
                                  double resolution) {
  constexpr double kSafety = 100;  // what the estimate may be short of
  return is_resolved(delta, k_self, kSafety * inverse_norm * k_self * largest_self, resolution);
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
// exactly and rounding must not choose between them, nor between those whose score is `nothing` or less. Answers
// scores.size() when the newcomer, whose score is `newcomer` and who is the youngest, is the one. A score that is no number
// counts among the lowest.
Index weakest(const ConstVectorRef& scores, double newcomer, double nothing);

}  // namespace kernsift
