// What is counted of the rows learned, beside the posterior: moments of the targets and numbers of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"

namespace kernsift {

// Weighted mean and variance of the targets as they arrive (West's form of Welford's recursion).
class TargetMoments {
 public:
  explicit TargetMoments(Index n_outputs) : mean_(Vector::Zero(n_outputs)) {}
  void add(const double* y, double weight);
  // The past counts less: all weights times `factor`.
  void fade(double factor) {
    weight_ *= factor;
    squares_ *= factor;
  }

  double weight() const { return weight_; }
  const Vector& mean() const { return mean_; }
  // Population variance, summed over the outputs: the unit of usefulness_tol. Targets that differ by less than 1e-10 of
  // their size count as differing by that: of a constant only rounding is left, and it must not become kernels.
  double variance() const { return weight_ > 0 ? std::max(squares_ / weight_, kRounding * mean_.squaredNorm()) : 0.0; }
  // Of the squares of the targets, and so of any cost, what is rounding.
  double rounding() const { return kRounding * (squares_ + weight_ * mean_.squaredNorm()); }

  // As arrays prefix_weight, prefix_mean, prefix_squares.
  void save(Arrays& arrays, const std::string& prefix) const;
  void load(const Arrays& arrays, const std::string& prefix);

 private:
  static constexpr double kRounding = 1e-20;
  Vector mean_;
  double weight_ = 0, squares_ = 0;
};

// The past counts `memory` times as much with each row.
struct LearnedRows {
  LearnedRows(Index n_outputs, double memory) : moments(n_outputs), memory(memory) {}

  void add(const double* y, double v) {
    if (memory < 1) moments.fade(memory);
    moments.add(y, v);
    sum_log_weights += std::log(v);
    counted = memory * counted + 1.0;
    ++rows;
  }
  // A row of a window leaves; it still counts as learned.
  void remove(const double* y, double v) {
    moments.add(y, -v);
    sum_log_weights -= std::log(v);
    counted -= 1.0;
  }

  // No row was learned.
  void restart() { *this = LearnedRows(moments.mean().size(), memory); }

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

  TargetMoments moments;
  double memory;
  double counted = 0;     // rows, the past discounted
  std::int64_t rows = 0;  // of positive weight
  double sum_log_weights = 0;
};

}  // namespace kernsift
