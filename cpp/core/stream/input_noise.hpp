// Noise of a stream that depends on the input: s^2(x), the factor between the variance of an observation at x and that
// predicted with constant noise, B. Its logarithm g is a posterior of its own, with a ridge and a memory of its own, on
// the span of the first third of the kernels, and of 20 if there are as many: squared errors tell too little of a
// variance for more, and a row costs a ninth of what it would on all. Each row is one step of scoring for the variance
// of normal errors, whose variance is 2:
//
//   g(x) = w_c(x)'theta, w_c being coordinates of the first kernels, kept within its values at the rows learned and
//   within log 400 of 0
//   theta <- the normal step to the target g(x) + min(max(e^2/B, 1/400) / s^2(x), 9) - 1                 [BEYOND B15]
//   G <- r G + log density of e with s^2 B, less that with B, either times a running scale; r = 0.998    [BEYOND B16]
//
// e is the error of the mixture before the row was learned. "auto" uses s^2 for variances where G > 0, "input" always;
// "input" also learns the mean with weights exp(mean g - g(x)), known before the row: the mean of the last hundred
// rows, or after a jump, which every row shows, none would count.
#pragma once

#include <algorithm>
#include <string>

#include "core/base/arrays.hpp"
#include "core/stream/posterior.hpp"

namespace kernsift {

enum class NoiseForm : std::uint8_t { constant, automatic, input };
NoiseForm noise_form(const std::string& name);  // throws std::invalid_argument
const char* noise_form_name(NoiseForm form);

class InputNoise {
 public:
  // `leading`: coordinates before those of the kernels.
  InputNoise(bool always, Index n_outputs, Index leading);

  // What variances of an output at coordinates w are multiplied with; 1 where s^2 is not in use.
  double factor(const ConstVectorRef& w, Index o) const;
  bool used(Index o) const { return always_ || state_(o, kGain) > 0; }
  // Of the mean, for the weight of a row: the geometric mean over the outputs of 1/s^2 beside what it was lately.
  double weight(const ConstVectorRef& w) const;
  bool weighs() const { return always_; }

  // A row was learned of which `error` and `variance` (with constant noise) were predicted, one an output. Nothing is
  // allocated.
  void learn(const ConstVectorRef& w, const ConstVectorRef& error, const ConstVectorRef& variance);
  // To be called when a kernel has joined the dictionary, as its last, and when the one at which the rotations begin
  // has left it; `kernels` is their number afterwards.
  void follow_growth(Index kernels);
  void follow_removal(const Rotations& rotations, Index kernels);
  void settle() { posterior_.settle(); }

  // Where the next errors are not those of predictions (a second pass), nothing is learned.
  void pause(bool paused) { paused_ = paused; }

  // The number of kernels, the first of the dictionary, that span g.
  static Index kernels_of(Index kernels) { return std::max(std::min<Index>(kernels, 20), (kernels + 2) / 3); }
  // The ridge of g: the variance of what a step of scoring fits, beside that of g beforehand.
  static constexpr double kRidge = 2;
  // Its own arrays among those of the stream.
  static Arrays of(const Arrays& state) { return state.part("noise_"); }
  static void put(Arrays& state, const Arrays& own) { state.put_part(own, "noise_"); }
  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index kernels);

 private:
  enum Column { kLow, kHigh, kLately, kRows, kConstant, kInput, kCounted, kGain, kColumns };
  // The first coordinates of a row are those in the span of the first kernels; before the first row there are none.
  ConstVectorRef own(const ConstVectorRef& w) const { return w.head(std::min(w.size(), posterior_.dimension())); }
  double level(const ConstVectorRef& w, Index o) const;
  void begin_output(Index o);
  double within(Index o, double g) const { return std::clamp(g, state_(o, kLow), state_(o, kHigh)); }
  // z2 = e^2/B, beside log s^2 and 1/s^2.
  void compare(Index o, double z2, double level, double precision);

  bool always_, paused_ = false;
  Posterior posterior_;
  Matrix state_;  // outputs x columns
  Vector target_, before_;
  Rotations of_own_;  // workspace
};

}  // namespace kernsift
