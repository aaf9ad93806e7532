#include "core/stream/admission.hpp"

#include <algorithm>

#include "core/base/limits.hpp"
#include "core/base/names.hpp"

namespace kernsift {

namespace {
constexpr Named<Rule> kRules[] = {{Rule::product, "product"},
                                  {Rule::two_part, "two-part"},
                                  {Rule::per_sample, "per-sample"},
                                  {Rule::novelty, "novelty"}};
}  // namespace

Rule admission_rule(const std::string& name) { return value_of(kRules, "admission", name); }
const char* rule_name(Rule rule) { return name_of(kRules, rule); }

Outcome Admission::judge(double delta, double k_self, double usefulness, double t, double variance) const {
  if (!(delta > novelty_tol * k_self)) return Outcome::rejected_novelty;  // [Engel ALD]
  const double tol2 = usefulness_tol * variance;
  bool useful = true;
  switch (rule) {
    case Rule::product:
      useful = delta * usefulness > tol2;
      break;  // Jung & Polani 2006, end of section 3.2
    case Rule::two_part:
      useful = usefulness > tol2;
      break;  // their slides
    case Rule::per_sample:
      useful = delta * usefulness > tol2 * t;
      break;  // MATH 1.6 'paper_mean'
    case Rule::novelty:
      break;
  }
  return useful ? Outcome::admitted : Outcome::rejected_usefulness;
}

// A score that is no number says that the element is beyond the arithmetic: it goes first.
Index weakest(const ConstVectorRef& scores, double newcomer, double nothing) {
  const Index n = scores.size();
  if (n == 0) return n;
  const double lowest = std::min(newcomer, scores.minCoeff<Eigen::PropagateNumbers>());  // newcomer if all are NaN
  const double bound = std::max(lowest > 0 ? lowest * (1.0 + kTie) : lowest, nothing);
  if (scores.minCoeff<Eigen::PropagateNaN>() > bound) return n;
  for (Index j = 0; j < n; ++j)
    if (!(scores[j] > bound)) return j;
  return n;
}

}  // namespace kernsift
