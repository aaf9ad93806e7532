// What is counted of the rows learned, beside the posterior: moments of the targets, forgetting, numbers of rows.
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

// Exponential forgetting. Instead of shrinking the past at every row, the weights of new rows grow, row j after the
// last fading by factor^-j, and everything is scaled back (with the ridge restored) every period() rows: in between
// nothing but the weights differs from a stream that forgets nothing.
class Forgetting {
 public:
  explicit Forgetting(double factor) : factor_(factor) {}

  bool active() const { return factor_ < 1; }
  double frame() const { return frame_; }                    // weight of the next row in the state's frame
  double scale() const { return 1.0 / (factor_ * frame_); }  // of the state, seen from the last row
  double effective_rows() const { return effective_rows_; }  // the past discounted
  std::int64_t rows_left() const { return period() - since_; }
  bool due() const { return active() && since_ >= period(); }

  void add_row() {
    effective_rows_ = factor_ * effective_rows_ + 1.0;
    if (!active()) return;
    frame_ /= factor_;
    ++since_;
  }
  void remove_row() { effective_rows_ -= 1.0; }
  // The frame begins again: what the past must be multiplied by.
  double begin_frame() {
    const double factor = 1.0 / frame_;
    frame_ = 1;
    since_ = 0;
    return factor;
  }

  void restart() {
    effective_rows_ = 0;
    begin_frame();
  }

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

 private:
  // Period chosen so that the effective ridge stays above 3/4 of alpha.
  std::int64_t period() const { return std::max<std::int64_t>(1, std::llround(0.25 / (1.0 - factor_))); }
  double factor_;
  double effective_rows_ = 0, frame_ = 1;
  std::int64_t since_ = 0;
};

struct LearnedRows {
  LearnedRows(Index n_outputs, double factor) : moments(n_outputs), forgetting(factor) {}

  void add(const double* y, double v) {
    moments.add(y, v * forgetting.frame());
    sum_log_weights += std::log(v);
    forgetting.add_row();
    ++rows;
  }
  // A row of a window leaves; it still counts as learned.
  void remove(const double* y, double v) {
    moments.add(y, -v);
    sum_log_weights -= std::log(v);
    forgetting.remove_row();
  }

  // No row was learned.
  void restart();

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

  TargetMoments moments;
  Forgetting forgetting;
  std::int64_t rows = 0;  // of positive weight
  double sum_log_weights = 0;
};

}  // namespace kernsift
