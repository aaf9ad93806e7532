#include "core/stream/stream_state.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/multiply.hpp"
#include "core/base/parallel.hpp"

namespace kernsift {

namespace {
Vector to_vector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}
}  // namespace

StreamState::StreamState(Kernel kernel, Index n_outputs, const OnlineSettings& settings)
    : basis_(std::move(kernel), settings.fit_intercept && !settings.free_constant(), to_vector(settings.linear)),
      mixture_(static_cast<Index>(settings.forgetting.size()), n_outputs),
      coverage_(n_outputs),
      forecast_(settings.targets.error_forecast ? n_outputs : 0),
      errors_(n_outputs, mixture_.size()),
      foretold_(settings.forgetting.size()),
      recent_(settings.exact_rows, basis_.kernel().n_features(), n_outputs) {
  uneven_.constant_variance = Vector::Zero(n_outputs);
  if (settings.noise != NoiseForm::constant)
    noise_.emplace(settings.noise == NoiseForm::input, n_outputs, settings.free_constant() ? 1 : basis_.offset());
  for (const double factor : settings.forgetting)
    memories_.emplace_back(settings.alpha, n_outputs, settings.free_constant(), basis_.offset(), factor);
  window_.only = settings.window;
  level_.kept = level_.pending = settings.targets.level && settings.fit_intercept && !settings.free_constant();
  level_.value = Vector::Zero(n_outputs);
  level_.measured.resize(1, n_outputs);
  basis_.reserve(8);
}

const double* StreamState::measured(const double* y) {
  if (!level_.kept) return y;
  for (Index o = 0; o < level_.value.size(); ++o) level_.measured(0, o) = y[o] - level_.value[o];
  return level_.measured.data();
}

Rows StreamState::measured(const Rows& Y) {
  if (level_.measured.rows() < Y.rows())
    level_.measured.resize(grown_capacity(level_.measured.rows(), Y.rows()), Y.cols());
  level_.measured.topRows(Y.rows()) = Y.rowwise() - level_.value.transpose();
  return level_.measured.topRows(Y.rows());
}

RowScalars StreamState::look(const ConstVectorRef& w, double k_self, const double* y, double v) {
  const double delta = basis_.distance(w, k_self);  // [JP 3]
  invariants::check_distance(delta, k_self);
  const double* target = measured(y);
  if (weighs_rows()) {
    const double given = v;
    v *= noise_->weight(w);
    uneven_.lightened = 1.0 / given - 1.0 / v;
  }
  for (std::size_t e = 0; e < memories_.size(); ++e) {
    Memory& each = memories_[e];
    each.scores.begin_row();
    each.row = each.posterior.look(w, std::max(0.0, delta), target, v);
    errors_.col(static_cast<Index>(e)) = each.posterior.residual();
  }
  return decider().row;
}

bool StreamState::sound() const {
  return std::all_of(memories_.begin(), memories_.end(), [](const Memory& each) { return each.row.sound(); });
}

void StreamState::apriori(const double* y, double* out) const {
  for (Index o = 0; o < errors_.rows(); ++o) out[o] = corrected(o, mixed(o, y));
}

// The error of the mixture and its variance for a row of the errors there are, from the noise variance of each memory
// and output, and the variance of a new observation in its units.
template <class Noise, class Relative>
void StreamState::compare(const ConstVectorRef& w, const double* y, const Noise& noise, const Relative& relative) {
  const Eigen::Map<const Vector> target(y, errors_.rows());
  const bool now = !predicted_.compare;
  if (now) {
    predicted_.mean = target;
    for (Index e = 0; e < errors_.cols(); ++e) predicted_.mean -= mixture_.weights()[e] * errors_.col(e);
    predicted_.variance.setZero(errors_.rows());
    for (Index e = 0; e < errors_.cols(); ++e) {
      const double weight = mixture_.weights()[e], units = relative(e);
      for (Index o = 0; o < errors_.rows(); ++o) {
        const double apart = predicted_.mean[o] - (target[o] - errors_(o, e));
        predicted_.variance[o] += weight * (noise(e, o) * units + apart * apart);  // [MATH 1.9] [BEYOND B9]
      }
    }
    for (Index o = 0; o < errors_.rows(); ++o) predicted_.mean[o] = corrected(o, predicted_.mean[o]);
  }
  predicted_.compare = false;
  predicted_.mean = target - predicted_.mean;
  if (!noise_) return coverage_.learn(predicted_.mean, predicted_.variance);
  if (now) {
    predicted_.constant = predicted_.variance;
    for (Index o = 0; o < target.size(); ++o) predicted_.variance[o] *= noise_->factor(w, o);
  }
  coverage_.learn(predicted_.mean, predicted_.variance);
  noise_->learn(w, predicted_.mean, predicted_.constant);
}

void StreamState::compare(const ConstVectorRef& w, double delta, const double* y) {
  compare(
      w, y, [&](Index e, Index o) { return memories_[static_cast<std::size_t>(e)].noise_variance(o); },
      [&](Index e) {
        const Memory& each = memories_[static_cast<std::size_t>(e)];
        return each.posterior.relative_variance(each.row.Delta + uneven_.lightened - 1.0, std::max(0.0, delta));
      });
}

bool StreamState::is_resolved(const Sample& sample, double delta) {
  return kernsift::is_resolved(
      delta, sample.k_self, dictionary(), basis_.span().inverse_norm(), KernelSpan::kResolution,
      [&] { return decider().scores.projection(basis_.span(), decider().posterior, sample.w); });
}

void StreamState::normal(const Sample& sample) {
  for (Memory& each : memories_) each.normal(basis_.span(), sample.w);
}

void StreamState::grow(const Sample& sample, std::int64_t id) {
  for (Memory& each : memories_) each.grow(basis_.span(), sample.w);
  if (noise_) noise_->follow_growth(basis_.size() + 1);
  basis_.append(sample.x, sample.prepared, sample.row, id, sample.w, std::sqrt(decider().row.delta));
}

bool StreamState::scores_after_growth(const Sample& sample, VectorRef scores) {
  Memory& leads = decider();
  return leads.scores.after_growth(basis_.span(), leads.posterior, sample.w, leads.row, scores);
}

void StreamState::end_row(double v, double novelty, const double* y) {
  for (Memory& each : memories_) each.fade();
  learn_errors(y);
  if (predicted_.weigh) {
    errors_ = -predicted_.members;
    errors_.colwise() += Eigen::Map<const Vector>(y, errors_.rows());
    predicted_.weigh = false;
  }
  weigh(v, novelty);
}

void StreamState::predict_members(const ConstVectorRef& w, VectorRef out) const {
  const Index outputs = level_.value.size();
  for (Index e = 0; e < mixture_.size(); ++e)
    for (Index o = 0; o < outputs; ++o)
      out[e * outputs + o] = level_.value[o] + memories_[static_cast<std::size_t>(e)].posterior.at(w, o);
  for (Index o = 0; forecast_.on() && o < outputs; ++o) {
    double predicted = 0;
    for (Index e = 0; e < mixture_.size(); ++e) predicted += mixture_.weights()[e] * out[e * outputs + o];
    forecast_.say(o, predicted).write(out.data() + errors_.size() + o * ErrorForecast::Said::kNumbers);
  }
}

void StreamState::weigh_by(const ConstVectorRef& predictions) {
  predicted_.members = predictions.head(errors_.size()).reshaped(level_.value.size(), mixture_.size());
  predicted_.said.clear();
  for (Index i = errors_.size(); i < member_numbers(); i += ErrorForecast::Said::kNumbers)
    predicted_.said.push_back(ErrorForecast::Said::read(predictions.data() + i));
  predicted_.weigh = true;
}

Vector StreamState::unaided() const {
  Vector out = Vector::Ones(errors_.rows());
  for (Index o = 0; forecast_.on() && o < out.size(); ++o) out[o] = forecast_.unaided(o);
  return out;
}

void StreamState::learn_errors(const double* y) {
  for (Index o = 0; forecast_.on() && o < errors_.rows(); ++o)
    forecast_.learn(o, predicted_.weigh ? predicted_.said[static_cast<std::size_t>(o)] : forecast_.say(o, mixed(o, y)),
                    y[o]);
}

void StreamState::compare_with(const ConstVectorRef& mean, const ConstVectorRef& variance,
                               const ConstVectorRef& constant) {
  predicted_.mean = mean;
  predicted_.variance = variance;
  predicted_.constant = constant;
  predicted_.compare = true;
}

// Scores follow who decides: O(m^3), seldom.
void StreamState::weigh(double v, double novelty) {
  if (memories_.size() == 1) return;
  Memory& before = decider();
  mixture_.learn(errors_, v);
  novelty_.add(novelty);
  if (&before == &decider() || !before.scores.tracking()) return;
  before.scores.leave();
  track_scores();
}

void StreamState::begin(const double* y, double v) {
  if (level_.pending) {
    level_.value = Eigen::Map<const Vector>(y, level_.value.size());
    level_.pending = false;
    for (Index o = 0; o < level_.value.size() && predicted_.weigh && forecast_.on(); ++o)
      predicted_.said[static_cast<std::size_t>(o)] = {y[o]};
    return;
  }
  for (Index o = 0; forecast_.on() && o < level_.value.size(); ++o) forecast_.learn(o, {y[o]}, y[o]);
  first().posterior.seat_bias(y, v);
  basis_.seat_constant();
}

void StreamState::remove(Index i) {
  for (Memory& each : memories_) each.scores.begin_removal(basis_.span(), i);
  basis_.remove(i);
  for (Memory& each : memories_) {
    const bool lost = !each.posterior.remove(basis_.rotations());
    each.scores.remove(basis_.span(), basis_.rotations(), each.posterior, i, lost);
  }
  if (noise_) noise_->follow_removal(basis_.rotations(), basis_.size());
  if (recent_.size() > 0) recent_.drop_last(basis_.rotations(), basis_.offset());
}

void StreamState::keep(const Sample& sample, const double* y, double weight) {
  recent_.push(sample.prepared, sample.row, sample.w, measured(y), weight);
  window_.heaviest =
      std::max(window_.heaviest, weight * (sample.k_self + sample.w.head(basis_.offset()).squaredNorm()));
}

double StreamState::look_exact(const Sample& sample, double delta) {
  const Index m = basis_.size(), n = recent_.size(), padded = recent_.rows().padded();
  Vector& along = window_.along;
  if (along.size() < padded) along.resize(grown_capacity(along.size(), padded));
  basis_.kernel().block(recent_.rows(), sample.prepared, sample.row, 1, Eigen::Map<Matrix>(along.data(), padded, 1));
  auto s = along.head(n);
  s.noalias() -= recent_.coordinates().bottomRows(m).transpose() * sample.w.tail(m);
  s /= std::sqrt(delta);
  return first().posterior.look_exact(recent_.coordinates(), recent_.targets(), recent_.weights(), s);
}

bool StreamState::scores_after_exact_growth(const Sample& sample, double delta, VectorRef scores) {
  return first().scores.after_exact_growth(basis_.span(), only(), sample.w, delta, scores);
}

void StreamState::grow_exact(const Sample& sample, double delta, std::int64_t id) {
  const auto s = window_.along.head(recent_.size());
  first().scores.grow_exact(basis_.span(), only(), sample.w, delta);
  first().posterior.grow_exact(s, recent_.weights());
  recent_.append_coordinate(s);
  if (noise_) noise_->follow_growth(basis_.size() + 1);
  basis_.append(sample.x, sample.prepared, sample.row, id, sample.w, std::sqrt(delta));
  count_rounding();
}

void StreamState::learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v,
                            const ConstVectorRef& delta, const ConstVectorRef& k_self, RowsOut apriori,
                            unsigned char* sound, Index threads) {
  const Index n = W.cols(), members = mixture_.size();
  const auto of = [](auto& all, Index e) -> auto& { return all[static_cast<std::size_t>(e)]; };
  const Rows targets = level_.kept ? measured(Y) : Y;
  sound_.assign(static_cast<std::size_t>(members * n), 1);
  parallel_for(members, static_cast<int>(threads), [&](Index e) {
    of(memories_, e).learn_run(basis_.span(), W, targets, v, delta, of(foretold_, e), sound_.data() + e * n);
  });
  for (Index r = 0; r < n; ++r) {
    apriori.row(r) = level_.value.transpose();
    for (Index e = 0; e < members; ++e) {
      const auto predicted = of(foretold_, e).mean.row(r);
      errors_.col(e) = (targets.row(r) - predicted).transpose();
      apriori.row(r) += mixture_.weights()[e] * predicted;
      if (sound_[static_cast<std::size_t>(e * n + r)] == 0) sound[r] = 0;
    }
    const auto noise = [&](Index e, Index o) {
      return of(foretold_, e).cost(r, o) / std::max(of(memories_, e).rows_so_far(), 1.0);
    };
    compare(W.col(r), Y.row(r).data(), noise, [&](Index e) {
      const double spread = of(foretold_, e).Delta[r] - 1.0;
      return of(memories_, e).posterior.relative_variance(spread, std::max(0.0, delta[r]));
    });
    for (Index o = 0; o < errors_.rows(); ++o) apriori(r, o) = corrected(o, apriori(r, o));
    learn_errors(Y.row(r).data());
    for (Memory& each : memories_) each.count_row_of_run();
    weigh(v[r], std::max(0.0, delta[r]) / k_self[r]);
  }
}

void StreamState::accumulate_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v,
                                 const ConstVectorRef& delta, RowsOut apriori) {
  const Vector noise = only().cost_so_far() / std::max(first().rows_so_far(), 1.0);
  first().posterior.accumulate_run(W, level_.kept ? measured(Y) : Y, v, apriori);
  if (level_.kept) apriori.rowwise() += level_.value.transpose();
  for (Index r = 0; r < W.cols(); ++r) {
    errors_.col(0) = (Y.row(r) - apriori.row(r)).transpose();
    compare(
        W.col(r), Y.row(r).data(), [&](Index, Index o) { return noise[o]; },
        [&](Index) { return only().relative_variance(1.0 / v[r] - 1.0, std::max(0.0, delta[r])); });
    for (Index o = 0; o < errors_.rows(); ++o) apriori(r, o) = corrected(o, apriori(r, o));
    learn_errors(Y.row(r).data());
  }
}

void StreamState::add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori,
                          Posterior::Sums& sums) const {
  if (!level_.kept) return only().add_run(W, Y, v, apriori, sums);
  const RowMatrix measured = Y.rowwise() - level_.value.transpose();
  only().add_run(W, measured, v, apriori, sums);
  apriori.rowwise() += level_.value.transpose();
}

void StreamState::leave_information() {
  if (const auto factor = first().posterior.leave_information()) renew_scores(first(), *factor);
}

void StreamState::settle() {
  leave_information();
  for (Memory& each : memories_) {
    each.posterior.settle();
    each.scores.settle(basis_.span(), each.posterior);
  }
  if (noise_) noise_->settle();
}

bool StreamState::change_ridge(double alpha) {
  settle();
  std::vector<Memory> changed = memories_;
  for (Memory& each : changed) {
    const auto factor = each.posterior.change_ridge(alpha);
    if (!factor) return false;
    renew_scores(each, *factor);
  }
  memories_ = std::move(changed);
  return true;
}

void StreamState::restart() {
  for (Memory& each : memories_) {
    if (sums())
      each.posterior.restart();
    else
      each.posterior.forget_all();
    each.scores.leave();
    each.learned.restart();
  }
  mixture_ = Mixture(mixture_.size(), errors_.rows());
  novelty_ = {};
  recent_.clear();
  window_.doubt = window_.heaviest = 0;
}

void StreamState::save(Arrays& arrays) const {
  basis_.save(arrays);
  for (std::size_t e = 0; e < memories_.size(); ++e) {
    Arrays own;
    memories_[e].posterior.save(own);
    memories_[e].scores.save(own, basis_.size());
    memories_[e].learned.save(own);
    arrays.put_all(own, e);
  }
  mixture_.save(arrays);
  coverage_.save(arrays);
  forecast_.save(arrays);
  if (noise_) noise_->save(arrays);
  novelty_.save(arrays);
  arrays.put("level", level_.value);
  arrays.put("level_pending", level_.pending);
  recent_.save(arrays);
  arrays.put("forgotten", static_cast<double>(window_.forgotten));
  arrays.put("doubt", window_.doubt);
  arrays.put("heaviest", window_.heaviest);
}

void StreamState::load(const Arrays& arrays) {
  for (std::size_t e = 0; e < memories_.size(); ++e) memories_[e].learned.load(arrays.of(e));
  const bool seated = only().has_bias() && first_rows() > 0;
  basis_.load(arrays, seated);
  for (std::size_t e = 0; e < memories_.size(); ++e) {
    const Arrays own = arrays.of(e);
    memories_[e].posterior.load(own, basis_.size(), seated);
    memories_[e].scores.load(own, basis_.size());
  }
  mixture_.load(arrays);
  coverage_.load(arrays);
  forecast_.load(arrays);
  if (noise_) noise_->load(arrays, basis_.size());
  novelty_.load(arrays);
  if (arrays.items().count("level") > 0) {
    level_.value = arrays.get("level", level_.value.size(), 1);
    level_.pending = arrays.number("level_pending") != 0;
  }
  if (recent_.capacity() > 0) recent_.load(arrays, basis_.dimension());
  window_.forgotten = arrays.count("forgotten");
  window_.doubt = arrays.number("doubt", 0.0);  // 0 in the state of an earlier version
  window_.heaviest = arrays.number("heaviest", 0.0);
}

}  // namespace kernsift
