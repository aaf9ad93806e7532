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

void Forgetting::save(Arrays& arrays) const {
  arrays.put("effective_rows", effective_rows_);
  arrays.put("frame", frame_);
  arrays.put("since_fade", static_cast<double>(since_));
}

void Forgetting::load(const Arrays& arrays) {
  effective_rows_ = arrays.number("effective_rows");
  frame_ = arrays.number("frame");
  since_ = arrays.count("since_fade");
}

void LearnedRows::restart() {
  moments = TargetMoments(moments.mean().size());
  forgetting.restart();
  rows = 0;
  sum_log_weights = 0;
}

void LearnedRows::save(Arrays& arrays) const {
  moments.save(arrays, "target");
  forgetting.save(arrays);
  arrays.put("rows_learned", static_cast<double>(rows));
  arrays.put("sum_log_weights", sum_log_weights);
}

void LearnedRows::load(const Arrays& arrays) {
  moments.load(arrays, "target");
  forgetting.load(arrays);
  rows = arrays.count("rows_learned");
  sum_log_weights = arrays.number("sum_log_weights");
}

}  // namespace kernsift
