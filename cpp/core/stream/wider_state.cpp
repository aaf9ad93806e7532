#include "core/stream/wider_state.hpp"

#include <cmath>
#include <string>

#include "core/stream/error_forecast.hpp"

namespace kernsift {

namespace {

Matrix with_columns(const Matrix& values, Index place, Index count) {
  Matrix wider = Matrix::Zero(values.rows(), values.cols() + count);
  wider.leftCols(place) = values.leftCols(place);
  wider.rightCols(values.cols() - place) = values.rightCols(values.cols() - place);
  return wider;
}

Matrix with_rows(const Matrix& values, Index count) {
  Matrix longer = Matrix::Zero(values.rows() + count, values.cols());
  longer.topRows(values.rows()) = values;
  return longer;
}

// The name without the prefix of its memory or of the noise.
std::string plain(const std::string& name) {
  const bool of_a_part = name.compare(0, 6, "memory") == 0 || name.compare(0, 6, "noise_") == 0;
  return of_a_part ? name.substr(name.find('_') + 1) : name;
}

// The inverse as FadingInverse keeps it, with `count` coordinates more at `place` of which nothing is known.
Matrix with_unknowns(const Matrix& inverse, Index place, Index count, double prior) {
  const Index after = inverse.rows() - place;
  Matrix wider = Matrix::Zero(inverse.rows() + count, inverse.cols() + count);
  wider.topLeftCorner(place, place) = inverse.topLeftCorner(place, place);
  wider.bottomLeftCorner(after, place) = inverse.bottomLeftCorner(after, place);
  wider.topRightCorner(place, after) = inverse.topRightCorner(place, after);
  wider.bottomRightCorner(after, after) = inverse.bottomRightCorner(after, after);
  wider.diagonal().segment(place, count).setConstant(prior);
  return wider;
}

// The same of a whole posterior.
Arrays with_unknowns(const Arrays& posterior, Index place, Index count, double alpha) {
  const double scale = posterior.number("inverse_scale"), shift = posterior.number("inverse_shift");
  Arrays wider;
  wider.put("inverse", with_unknowns(posterior.get("inverse"), place, count, 1.0 / (scale * alpha) - shift));
  wider.put("theta", Matrix(with_columns(posterior.get("theta").transpose(), place, count).transpose()));
  if (const Matrix& information = posterior.get("information"); information.size() > 0)
    wider.put("information", with_unknowns(information, place, count, alpha));
  wider.put("log_det", posterior.number("log_det") + static_cast<double>(count) * std::log(alpha));
  return wider;
}

// Slopes of the new features, of which nothing is known, behind those of the others.
void add_slopes(Arrays& state, const OnlineSettings& settings, Index had, Index count) {
  const Index place = (settings.fit_intercept ? 1 : 0) + had;
  for (std::size_t k = 0; k < settings.forgetting.size(); ++k)
    state.put_all(with_unknowns(state.of(k), place, count, settings.alpha), k);
  if (settings.noise != NoiseForm::constant)
    InputNoise::put(state, with_unknowns(InputNoise::of(state), place, count, InputNoise::kRidge));
  if (const Matrix& recent = state.get("recent_coordinates"); recent.cols() > 0)
    state.put("recent_coordinates", Matrix(with_columns(recent.transpose(), place, count).transpose()));
}

}  // namespace

Arrays with_features(const Arrays& state, const OnlineSettings& settings, Index had, Index count) {
  Arrays wider;
  for (const auto& [name, values] : state.items()) {
    const bool rows = name == "basis" || name == "recent_rows";  // the last column of recent rows is their norm
    if (name == "kept_rows")
      wider.put(name, with_columns(values, had, count));
    else
      wider.put(name,
                rows ? with_columns(values.size() > 0 ? values : Matrix(0, had + (name == "basis" ? 0 : 1)), had, count)
                     : values);
  }
  if (!settings.linear.empty()) add_slopes(wider, settings, had, count);
  return wider;
}

Arrays with_outputs(const Arrays& state, Index count) {
  Arrays wider;
  for (const auto& [name, values] : state.items()) {
    const std::string what = plain(name);
    if (what == "theta" || what == "beta" || what == "recent_targets")
      wider.put(name, with_columns(values, values.cols(), count));
    else if (what == "cost" || what == "target_mean" || what == "level" || what == "error_squares" ||
             what == "coverage" || what == "target_range" || what == "levels")
      wider.put(name, with_rows(values, count));
    else if (what == "error_forecast")
      wider.put(name, ErrorForecast::with_outputs(values, count));
    else if (what == "kept_rows")
      wider.put(name, with_columns(values, values.cols() - 1, count));  // before the weight
    else
      wider.put(name, values);
  }
  return wider;
}

}  // namespace kernsift
