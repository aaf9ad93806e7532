#include "core/stream/input_noise.hpp"

#include <cmath>

#include "core/base/limits.hpp"
#include "core/base/names.hpp"

namespace kernsift {

namespace {
constexpr double kLevelKept = 0.9995;                            // a memory that follows noise that moves
constexpr double kLeastSquared = 1.0 / 400.0, kMostSquared = 9;  // of errors; the second in units of s^2
constexpr double kScaleKept = 0.99, kGainKept = 0.998, kMostRatio = 25;
constexpr double kLeastKnown = 1e-12;  // of the square of an error, the variance said of it
const double kMostLevel = -std::log(kLeastSquared);
const double kMostWeight = std::log(3.0);  // of a row, and one over it the least

constexpr Named<NoiseForm> kForms[] = {
    {NoiseForm::constant, "constant"}, {NoiseForm::automatic, "auto"}, {NoiseForm::input, "input"}};
}  // namespace

NoiseForm noise_form(const std::string& name) { return value_of(kForms, "noise", name); }
const char* noise_form_name(NoiseForm form) { return name_of(kForms, form); }

InputNoise::InputNoise(bool always, Index n_outputs, Index leading)
    : always_(always),
      posterior_(kRidge, n_outputs, false, leading, kLevelKept),
      state_(n_outputs, kColumns),
      target_(n_outputs),
      before_(n_outputs) {
  for (Index o = 0; o < n_outputs; ++o) begin_output(o);
}

void InputNoise::begin_output(Index o) {
  state_.row(o).setZero();
  state_(o, kConstant) = state_(o, kInput) = state_(o, kCounted) = 1;  // as if one error had been as large as predicted
}

double InputNoise::level(const ConstVectorRef& w, Index o) const { return within(o, posterior_.at(own(w), o)); }

double InputNoise::factor(const ConstVectorRef& w, Index o) const { return used(o) ? std::exp(level(w, o)) : 1.0; }

double InputNoise::weight(const ConstVectorRef& w) const {
  double sum = 0;
  for (Index o = 0; o < state_.rows(); ++o) sum += level(w, o) - state_(o, kLately);
  return std::exp(std::clamp(-sum / static_cast<double>(state_.rows()), -kMostWeight, kMostWeight));
}

void InputNoise::learn(const ConstVectorRef& all, const ConstVectorRef& error, const ConstVectorRef& variance) {
  if (paused_) return;
  const ConstVectorRef w = own(all);
  bool any = false;
  // of a row so far out, or while next to nothing is known, the variance is rounding, or as good as that
  const auto known = [&](Index o) {
    return variance[o] > kLeastKnown * error[o] * error[o] && std::isfinite(variance[o]);
  };
  for (Index o = 0; o < state_.rows(); ++o) {
    target_[o] = before_[o] = posterior_.at(w, o);
    if (!known(o)) continue;
    any = true;
    const double z2 = error[o] * error[o] / variance[o], g = within(o, before_[o]), precision = std::exp(-g);
    compare(o, z2, g, precision);
    target_[o] = g + std::min(std::max(z2, kLeastSquared) * precision, kMostSquared) - 1.0;  // [BEYOND B15]
    state_(o, kRows) = kScaleKept * state_(o, kRows) + 1.0;
    state_(o, kLately) += (g - state_(o, kLately)) / state_(o, kRows);
  }
  if (!any) return;
  const RowScalars row = posterior_.look(w, 0.0, target_.data(), 1.0);
  if (!row.sound()) return;
  posterior_.normal(w, row);
  const double gain = row.leverage / row.Delta;
  for (Index o = 0; o < state_.rows(); ++o) {
    if (!known(o)) continue;
    const double now = std::clamp(before_[o] + gain * (target_[o] - before_[o]), -kMostLevel, kMostLevel);
    state_(o, kLow) = std::min(state_(o, kLow), now);
    state_(o, kHigh) = std::max(state_(o, kHigh), now);
  }
  posterior_.fade();
}

void InputNoise::follow_growth(Index kernels) {
  while (posterior_.kernels() < kernels_of(kernels)) posterior_.widen();
}

// A kernel behind the first ones changes nothing of their span. In the place of one of them the next joins: the first
// rotations are those of the span that it makes.
void InputNoise::follow_removal(const Rotations& rotations, Index kernels) {
  const Index gone = rotations.first, before = posterior_.kernels(), now = kernels_of(kernels);
  of_own_.first = 0;
  of_own_.chain.clear();
  if (gone < before) {
    if (now == before) posterior_.widen();
    of_own_.first = gone;
    of_own_.chain.assign(rotations.chain.begin(), rotations.chain.begin() + (posterior_.kernels() - 1 - gone));
  }
  if (now < posterior_.kernels()) posterior_.remove(of_own_);
}

void InputNoise::compare(Index o, double z2, double level, double precision) {
  const double constant = std::max(state_(o, kConstant) / state_(o, kCounted), kSmallest);
  const double own = std::max(state_(o, kInput) / state_(o, kCounted), kSmallest);
  const double flat = std::min(z2 / constant, kMostRatio), scaled = std::min(z2 * precision / own, kMostRatio);
  const double gain = 0.5 * (std::log(constant / own) - level + flat - scaled);
  state_(o, kGain) = kGainKept * state_(o, kGain) + gain;  // [BEYOND B16]
  state_(o, kConstant) = kScaleKept * state_(o, kConstant) + flat * constant;
  state_(o, kInput) = kScaleKept * state_(o, kInput) + scaled * own;
  state_(o, kCounted) = kScaleKept * state_(o, kCounted) + 1.0;
}

void InputNoise::save(Arrays& arrays) const {
  Arrays kept;
  posterior_.save(kept);
  kept.put("levels", state_);
  put(arrays, kept);
}

void InputNoise::load(const Arrays& arrays, Index kernels) {
  const Arrays kept = of(arrays);
  posterior_.load(kept, kernels_of(kernels), true);
  state_ = kept.get("levels", state_.rows(), kColumns);
  for (Index o = 0; o < state_.rows(); ++o)
    if (!(state_(o, kCounted) > 0)) begin_output(o);  // an output that came later
}

}  // namespace kernsift
