// One temperature that turns least-squares scores into probabilities, p = softmax(T f). One column of scores stands for
// two classes: its negative is the score of the other.
#pragma once

#include <cstdint>

#include "core/base/types.hpp"

namespace kernsift {

// Probabilities of the classes, a row of scores each; `out` has two columns for one of scores.
void softmax(const Rows& scores, double temperature, RowsOut out);

// T of a batch: it minimises the weighted log loss of the rows plus (log T)^2 / 2. codes: the class of each row. The
// scores should be those of rows left out; the last term is the prior of `Temperature`, one row's worth, without which
// separable classes would send T to infinity.
double fit_temperature(const Rows& scores,
                       const Eigen::Ref<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>& codes,
                       const ConstVectorRef& weight);

// T of a stream, learned from scores given before their row was learned: honest errors at no extra cost.
struct Temperature {
  double log_t = 0;
  double information = 1;  // Fisher information of log T gathered so far, fading

  // scores: f per class; targets: +-1, same shape. A natural-gradient step on the log loss of one row, of positive
  // weight. Returns the probability of its class before the step.
  double learn(const Rows& scores, const Rows& targets, double weight);

  Vector f = {}, p = {};  // workspace
};

}  // namespace kernsift
