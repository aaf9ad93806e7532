#include "core/stream/stream_state.hpp"

#include <algorithm>
#include <cmath>

namespace kernsift {

StreamState::StreamState(Kernel kernel, Index n_outputs, const OnlineSettings& settings)
    : basis_(std::move(kernel)),
      posterior_(settings.alpha, n_outputs, settings.fit_intercept),
      scores_(n_outputs),
      recent_(settings.exact_rows, basis_.kernel().n_features(), n_outputs),
      learned_(n_outputs, settings.forgetting) {
  window_.only = settings.window;
  basis_.reserve(8);
}

RowScalars StreamState::look(const ConstVectorRef& w, double k_self, const double* y, double v) {
  scores_.begin_row();
  const double delta = basis_.distance(w, k_self);  // [JP 3]
  invariants::check_distance(delta, k_self);
  return posterior_.look(w, std::max(0.0, delta), y, v);
}

bool StreamState::is_resolved(const Sample& sample, double delta) {
  return kernsift::is_resolved(delta, sample.k_self, dictionary(), basis_.span().inverse_norm(),
                               KernelSpan::kResolution,
                               [&] { return scores_.projection(basis_.span(), posterior_, sample.w); });
}

void StreamState::normal(const Sample& sample, const RowScalars& row) {
  posterior_.normal(sample.w, row);
  scores_.normal(basis_.span(), posterior_, row);
}

void StreamState::grow(const Sample& sample, const RowScalars& row, std::int64_t id) {
  scores_.grow(basis_.span(), posterior_, sample.w, row);
  posterior_.grow(sample.w, row);
  basis_.append(sample.x, sample.prepared, sample.row, id, sample.w, std::sqrt(row.delta));
}

bool StreamState::scores_after_growth(const Sample& sample, const RowScalars& row, VectorRef scores) {
  return scores_.after_growth(basis_.span(), posterior_, sample.w, row, scores);
}

void StreamState::seat_bias(const double* y, double v) {
  posterior_.seat_bias(y, v);
  basis_.seat_constant();
}

void StreamState::remove(Index i) {
  scores_.begin_removal(basis_.span(), i);
  basis_.remove(i);
  const bool lost = !posterior_.remove(basis_.rotations());
  scores_.remove(basis_.span(), basis_.rotations(), posterior_, i, lost);
  if (recent_.size() > 0) recent_.drop_last(basis_.rotations(), basis_.offset());
}

void StreamState::keep(const Sample& sample, const double* y, double weight) {
  recent_.push(sample.prepared, sample.row, sample.w, y, weight);
  window_.heaviest = std::max(window_.heaviest, weight * (sample.k_self + 1.0));
}

double StreamState::look_exact(const Sample& sample, double delta) {
  const Index m = basis_.size(), n = recent_.size(), padded = recent_.rows().padded();
  Vector& along = window_.along;
  if (along.size() < padded) along.resize(grown_capacity(along.size(), padded));
  basis_.kernel().block(recent_.rows(), sample.prepared, sample.row, 1, Eigen::Map<Matrix>(along.data(), padded, 1));
  auto s = along.head(n);
  s.noalias() -= recent_.coordinates().bottomRows(m).transpose() * sample.w.tail(m);
  s /= std::sqrt(delta);
  return posterior_.look_exact(recent_.coordinates(), recent_.targets(), recent_.weights(), s);
}

bool StreamState::scores_after_exact_growth(const Sample& sample, double delta, VectorRef scores) {
  return scores_.after_exact_growth(basis_.span(), posterior_, sample.w, delta, scores);
}

void StreamState::grow_exact(const Sample& sample, double delta, std::int64_t id) {
  const auto s = window_.along.head(recent_.size());
  scores_.grow_exact(basis_.span(), posterior_, sample.w, delta);
  posterior_.grow_exact(s, recent_.weights());
  recent_.append_coordinate(s);
  basis_.append(sample.x, sample.prepared, sample.row, id, sample.w, std::sqrt(delta));
  count_rounding();
}

bool StreamState::learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori) {
  if (!posterior_.learn_run(W, Y, v, apriori)) return false;
  scores_.run(basis_.span(), posterior_, W.cols());
  return true;
}

void StreamState::leave_information() {
  if (const auto factor = posterior_.leave_information()) renew_scores(*factor);
}

void StreamState::settle() {
  leave_information();
  posterior_.settle();
  scores_.settle(basis_.span(), posterior_);
}

void StreamState::fade_if_due() {
  if (!learned_.forgetting.due()) return;
  const double factor = learned_.forgetting.begin_frame();
  settle();
  renew_scores(posterior_.fade(factor));
  learned_.moments.fade(factor);
  recent_.fade(factor);
}

bool StreamState::change_ridge(double alpha) {
  settle();
  const auto factor = posterior_.change_ridge(alpha);
  if (factor) renew_scores(*factor);
  return factor.has_value();
}

void StreamState::restart() {
  posterior_.restart();
  learned_.restart();
  recent_.clear();
  window_.doubt = window_.heaviest = 0;
}

void StreamState::save(Arrays& arrays) const {
  basis_.save(arrays);
  posterior_.save(arrays);
  scores_.save(arrays, basis_.size());
  recent_.save(arrays);
  learned_.save(arrays);
  arrays.put("forgotten", static_cast<double>(window_.forgotten));
  arrays.put("doubt", window_.doubt);
  arrays.put("heaviest", window_.heaviest);
}

void StreamState::load(const Arrays& arrays) {
  learned_.load(arrays);
  const bool seated = posterior_.has_bias() && learned_.rows > 0;
  basis_.load(arrays, seated);
  posterior_.load(arrays, basis_.size(), seated);
  scores_.load(arrays, basis_.size());
  recent_.load(arrays, basis_.dimension());
  window_.forgotten = arrays.count("forgotten");
  window_.doubt = arrays.number("doubt", 0.0);  // 0 in the state of an earlier version
  window_.heaviest = arrays.number("heaviest", 0.0);
}

}  // namespace kernsift
