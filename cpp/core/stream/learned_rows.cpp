#include "core/stream/learned_rows.hpp"

namespace kernsift {

void TargetMoments::add(const double* y, double weight) {
  weight_ += weight;
  const double share = weight / weight_;
  for (Index o = 0; o < mean_.size(); ++o) {
    const double diff = y[o] - mean_[o];
    mean_[o] += share * diff;
    squares_ += weight * diff * (y[o] - mean_[o]);
  }
}

void TargetMoments::save(Arrays& arrays, const std::string& prefix) const {
  arrays.put(prefix + "_weight", weight_);
  arrays.put(prefix + "_mean", mean_);
  arrays.put(prefix + "_squares", squares_);
}

void TargetMoments::load(const Arrays& arrays, const std::string& prefix) {
  weight_ = arrays.number(prefix + "_weight");
  mean_ = arrays.get(prefix + "_mean", mean_.size(), 1);
  squares_ = arrays.number(prefix + "_squares");
}

void LearnedRows::save(Arrays& arrays) const {
  moments.save(arrays, "target");
  arrays.put("effective_rows", counted);
  arrays.put("rows_learned", static_cast<double>(rows));
  arrays.put("sum_log_weights", sum_log_weights);
}

void LearnedRows::load(const Arrays& arrays) {
  moments.load(arrays, "target");
  counted = arrays.number("effective_rows");
  rows = arrays.count("rows_learned");
  sum_log_weights = arrays.number("sum_log_weights");
}

}  // namespace kernsift
