// Recursive least squares that remember for different times, each weighed by how well it predicted the last rows: the
// mixture of the streams' memories [BEYOND B9] on features that are given. One member alone has no weights to learn.
#pragma once

#include <vector>

#include "core/stream/mixture.hpp"
#include "core/stream/recursive_least_squares.hpp"

namespace kernsift {

class LeastSquaresBank {
 public:
  // A member for each factor of `forgetting`, of which there is one at least.
  LeastSquaresBank(Index n_features, Index n_outputs, double alpha, bool bias, const std::vector<double>& forgetting);

  Index n_features() const { return members_.front().n_features(); }
  Index n_outputs() const { return members_.front().n_outputs(); }
  double rows_seen() const { return members_.front().rows_seen(); }
  bool forgets() const;
  const Vector& weights() const { return mixture_.weights(); }
  Matrix errors() const { return mixture_.errors(); }  // root mean squares before learning, outputs x members

  // As of one member. False, or a row more in the count, where the arithmetic of a member cannot carry the row: that
  // member has left it out.
  bool update(const double* x, const double* y, double weight);
  Index update_block(const Rows& X, const Rows& Y, const ConstVectorRef& weights);
  void grow(Index features);
  void remove(Index i);

  // Mean of the members, by their weights.
  void predict(const Rows& X, RowsOut out) const;
  Matrix coefficients() const;
  Vector intercept() const;
  // Of new observations: the mean of the members' variances, and the variance of their means. rows x outputs.
  RowMatrix variance(const Rows& X);
  // What is of one member only: the heaviest.
  RecursiveLeastSquares& heaviest() { return members_[static_cast<std::size_t>(mixture_.heaviest())]; }

  void save(Arrays& arrays);
  void load(const Arrays& arrays);

 private:
  std::vector<RecursiveLeastSquares> members_;
  Mixture mixture_;
  Matrix errors_;  // of a row, outputs x members
};

}  // namespace kernsift
