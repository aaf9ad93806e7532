// Noise of a stream that depends on the input: s^2(x), the factor between the variance of an observation at x and that
// predicted with constant noise, B. Its logarithm g is a posterior of its own on the span of the model, with a ridge
// and a memory of its own; each row is one step of scoring for the variance of normal errors, whose variance is 2:
//
//   g(x) = w(x)'theta, kept within its values at the rows learned and within log 400 of 0
//   theta <- the normal step to the target g(x) + min(max(e^2/B, 1/400) / s^2(x), 9) - 1                 [BEYOND B15]
//   G <- r G + log density of e with s^2 B, less that with B, either times a running scale; r = 0.998    [BEYOND B16]
//
// e is the error of the mixture before the row was learned. "auto" uses s^2 for variances where G > 0, "input" always;
// "input" also learns the mean with weights exp(mean g - g(x)), known before the row: the mean of the last hundred
// rows, or after a jump, which every row shows, none would count.
#pragma once

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
  // A kernel joined, behind the others; one left, which the rotations have brought last.
  void widen() { posterior_.widen(); }
  void remove(const Rotations& rotations) { posterior_.remove(rotations); }
  void settle() { posterior_.settle(); }

  // Where the next errors are not those of predictions (a second pass), nothing is learned.
  void pause(bool paused) { paused_ = paused; }

  // The ridge of g: the variance of what a step of scoring fits, beside that of g beforehand.
  static constexpr double kRidge = 2;
  // Its own arrays among those of the stream.
  static Arrays of(const Arrays& state) { return state.part("noise_"); }
  static void put(Arrays& state, const Arrays& own) { state.put_part(own, "noise_"); }
  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index kernels);

 private:
  enum Column { kLow, kHigh, kLately, kRows, kConstant, kInput, kCounted, kGain, kColumns };
  double level(const ConstVectorRef& w, Index o) const;
  void begin_output(Index o);
  void compare(Index o, double z2, double level);

  bool always_, paused_ = false;
  Posterior posterior_;
  Matrix state_;  // outputs x columns
  Vector target_;
};

}  // namespace kernsift
