#include "core/stream/error_forecast.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/base/limits.hpp"

namespace kernsift {

namespace {
constexpr double kErrorsKept = 0.998, kErrorRows = 500;  // per row; rows it makes
constexpr double kMeanKept = 0.95;                       // of the mean error
constexpr double kRidge = 5;                             // rows without a sign
constexpr double kOutlier = 5;                           // deviations
constexpr double kLeastGain = 0.01, kDoubt = 4;          // of squared errors; logarithm of the odds against it at first

double cut(double value, double square) {
  const double most = kOutlier * std::sqrt(square);
  return std::clamp(value, -most, most);
}

// Weight of a squared error of that size, so that it counts in proportion beyond `most`.
double weight_of(double size, double most) { return size > most ? most / size * (most / size) : 1.0; }
}  // namespace

void ErrorForecast::Said::write(double* numbers) const {
  numbers[0] = predicted;
  Eigen::Map<Signs>(numbers + 1) = signs;
  numbers[1 + kSigns] = error;
}

ErrorForecast::Said ErrorForecast::Said::read(const double* numbers) {
  return {numbers[0], Eigen::Map<const Signs>(numbers + 1), numbers[1 + kSigns]};
}

ErrorForecast::Said ErrorForecast::say(Index output, double predicted) const {
  const Output& out = outputs_[static_cast<std::size_t>(output)];
  Said said{predicted, {out.last_error, out.mean_error, cut(out.last_target - predicted, out.gap_square)}, 0.0};
  const double error = out.weights.dot(said.signs);
  if (std::isfinite(error)) said.error = error;
  return said;
}

double ErrorForecast::unaided(Index output) const {
  const Output& out = outputs_[static_cast<std::size_t>(output)];
  const double ratio = std::sqrt(out.plain / out.corrected);
  return std::isfinite(ratio) ? 1 + trust_ * (ratio - 1) : 1.0;
}

void ErrorForecast::learn(Index output, const Said& said, double target) {
  Output& out = outputs_[static_cast<std::size_t>(output)];
  const double error = target - said.predicted, left = error - said.error;
  const double gap = out.rows > 0 ? out.last_target - said.predicted : 0.0;
  const double size = std::max(std::abs(error), said.signs.cwiseAbs().maxCoeff());
  if (paused_ || !(std::max({size, std::abs(gap), std::abs(left)}) < kLargest)) return;  // squares can be added

  const double most = out.ordinary > 0 ? kOutlier * std::sqrt(out.ordinary) : kLargest;
  const double weight = weight_of(size, most);
  out.squares = kErrorsKept * out.squares + weight * said.signs * said.signs.transpose();
  out.products = kErrorsKept * out.products + weight * error * said.signs;
  const double counts = weight_of(std::max(std::abs(error), std::abs(left)), most);
  out.plain = kErrorsKept * out.plain + counts * error * error;
  out.corrected = kErrorsKept * out.corrected + counts * left * left;

  out.rows = std::min(out.rows + 1, kErrorRows);
  const double ordinary = std::clamp(error, -most, most);
  out.ordinary += (ordinary * ordinary - out.ordinary) / out.rows;
  out.error_square += (error * error - out.error_square) / out.rows;
  out.gap_square += (gap * gap - out.gap_square) / out.rows;
  out.last_error = cut(error, out.error_square);
  out.mean_error = kMeanKept * out.mean_error + (1 - kMeanKept) * out.last_error;
  out.last_target = target;
  out.conclude();
  if (&out == &outputs_.back()) judge();
}

void ErrorForecast::judge() {
  double odds = -kDoubt;
  for (const Output& each : outputs_) odds += each.gain;
  trust_ = 1 / (1 + std::exp(-odds));
}

void ErrorForecast::Output::conclude() {
  weights.setZero();
  gain = 0;
  if (!(ordinary > 0) || !(plain > 0)) return;
  Eigen::Matrix<double, kSigns, kSigns> ridged = squares;
  ridged.diagonal().array() += kRidge * ordinary;
  weights = ridged.llt().solve(products);
  gain = 0.5 * rows * std::log((1 - kLeastGain) * plain / corrected);
}

// What is saved of an output, number by number.
template <class Self, class Visit>
void ErrorForecast::Output::each(Self& self, const Visit& visit) {
  for (Index i = 0; i < kSigns; ++i)
    for (Index j = 0; j <= i; ++j) visit(self.squares(i, j));
  for (Index i = 0; i < kSigns; ++i) visit(self.products[i]);
  for (auto* number : {&self.rows, &self.ordinary, &self.error_square, &self.gap_square, &self.last_error,
                       &self.mean_error, &self.last_target, &self.plain, &self.corrected})
    visit(*number);
}

namespace {
constexpr Index kNumbers = ErrorForecast::kSigns * (ErrorForecast::kSigns + 1) / 2 + ErrorForecast::kSigns + 9;
}

Matrix ErrorForecast::with_outputs(const Matrix& state, Index count) {
  constexpr Index kRows = kNumbers - 9;  // the first of the single numbers
  Matrix wider = Matrix::Zero(state.rows() + count, state.cols());
  wider.topRows(state.rows()) = state;
  wider.col(kRows).tail(count).setConstant(state(0, kRows));
  return wider;
}

void ErrorForecast::save(Arrays& arrays) const {
  if (!on()) return;
  Matrix state(static_cast<Index>(outputs_.size()), kNumbers);
  for (Index o = 0; o < state.rows(); ++o) {
    Index i = 0;
    Output::each(outputs_[static_cast<std::size_t>(o)], [&](double number) { state(o, i++) = number; });
  }
  arrays.put("error_forecast", std::move(state));
}

void ErrorForecast::load(const Arrays& arrays) {
  if (!on() || arrays.items().count("error_forecast") == 0) return;  // of an earlier version
  const Matrix& state = arrays.get("error_forecast", static_cast<Index>(outputs_.size()), kNumbers);
  for (Index o = 0; o < state.rows(); ++o) {
    Output& out = outputs_[static_cast<std::size_t>(o)];
    Index i = 0;
    Output::each(out, [&](double& number) { number = state(o, i++); });
    out.squares = Eigen::Matrix<double, kSigns, kSigns>(out.squares.selfadjointView<Eigen::Lower>());
    out.conclude();
  }
  judge();
}

}  // namespace kernsift
