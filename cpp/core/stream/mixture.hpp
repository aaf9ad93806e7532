// Weights of the memories of a stream, by how well each predicted its last rows: dynamic model averaging (Raftery,
// Karny and Ettler 2010). [BEYOND B9]
//
//   log w_e <- r log w_e - (ln s2_e + min(rho_e^2 / s2_e, 9)) / 2,   summed over the outputs
//
// rho_e is the error of memory e before it learned the row, s2_e the mean square of its errors before that, the past
// counting r = 0.99 times as much with each row. No logarithm falls more than 14 below the largest. A model of one
// memory keeps no weights.
#pragma once

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"

namespace kernsift {

class Mixture {
 public:
  Mixture(Index members, Index n_outputs);

  Index size() const { return weights_.size(); }
  const Vector& weights() const { return weights_; }  // their sum is 1
  Index heaviest() const;                             // of equal ones the first
  // Of each memory: the root of s2, outputs x members.
  Matrix errors() const;

  // A row of weight v was learned: `errors` before that, outputs x members.
  void learn(const ConstMatrixRef& errors, double v);

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

 private:
  void weigh();
  Vector log_weights_, weights_;  // the largest logarithm is 0
  Matrix squares_;                // outputs x members
  double counted_ = 0;
};

}  // namespace kernsift
