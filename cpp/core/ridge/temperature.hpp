// One temperature that turns least-squares scores into probabilities, p = softmax(T f), learnt from scores given
// before their row was learned, so that it sees honest errors at no extra cost.
#pragma once

#include "core/base/types.hpp"

namespace kernsift {

struct Temperature {
  double log_t = 0;
  double information = 1;  // Fisher information of log T gathered so far, fading

  // scores: f per class (one column: the binary score, its negative the other class); targets: +-1, same shape.
  // Natural-gradient steps on the log loss, a row at a time.
  void learn(const Rows& scores, const Rows& targets, const ConstVectorRef& weights);
};

}  // namespace kernsift
