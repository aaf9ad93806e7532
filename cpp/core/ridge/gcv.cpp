#include "core/ridge/gcv.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernsift {

double gcv_score(double rows, double rss, double left) {
  if (!(left > 1e-9 * rows)) return std::numeric_limits<double>::infinity();
  return rows * rss / (left * left);  // [OROLS 27] [MATH 1.8]
}

double RidgeSpectrum::rss(double lambda) const {
  const auto shrunk = lambda / (h.array() + lambda);
  return residual + (f2.array() / h.array() * shrunk.square()).sum();
}

double RidgeSpectrum::trace(double lambda, double toll) const {
  return rows - toll * unpenalised - toll * (h.array() / (h.array() + lambda)).sum();
}

double RidgeSpectrum::cost(double lambda) const {
  return residual + (f2.array() / h.array() * (lambda / (h.array() + lambda))).sum();
}

double RidgeSpectrum::evidence(double lambda) const {
  const double n = std::max(rows - unpenalised, 1.0);
  return cost(lambda) * std::exp((1.0 + h.array() / lambda).log().sum() / n);  // [OROLS evidence]
}

double RidgeSpectrum::bic(double lambda) const {
  const double left = trace(lambda), spent = rows - left;
  if (!(left > 1e-9 * rows)) return std::numeric_limits<double>::infinity();
  return rss(lambda) / left * (1.0 + (std::log(rows) - 1.0) * spent / rows);  // [OROLS bic]
}

double RidgeSpectrum::reestimate(double lambda) const {
  const double unit = h.maxCoeff();  // in units of the longest column no cube leaves the range of a double
  const Vector inverse = (h.array() / unit + lambda / unit).inverse();
  const double dtrace = (h.array() / unit * inverse.array().square()).sum();  // [OROLS 31]
  const double bend = (f2.array() / unit * inverse.array().cube()).sum();     // [OROLS 29] over lambda
  return unit * (dtrace * rss(lambda) / (trace(lambda) * bend));              // [OROLS 30]
}

double ridge_fixed_point(const RidgeSpectrum& spectrum, double lambda, double floor, int iterations, double tolerance) {
  if (spectrum.h.size() == 0) return lambda;
  const double largest = spectrum.h.maxCoeff();
  const double low = floor * largest, high = kRidgeCeiling * largest;
  lambda = std::clamp(lambda, low, high);
  for (int i = 0; i < iterations; ++i) {
    double next = spectrum.reestimate(lambda);
    if (!(next >= 0)) break;  // no freedom left, or targets orthogonal to every column
    next = std::clamp(next, low, high);
    const double change = std::abs(next - lambda);
    lambda = next;
    if (change <= tolerance * lambda) break;
  }
  return lambda;
}

double ridge_minimum(const RidgeSpectrum& spectrum, double lambda, double floor, int iterations, double tolerance) {
  lambda = ridge_fixed_point(spectrum, lambda, floor, iterations, tolerance);
  if (spectrum.h.size() == 0) return lambda;
  const double largest = spectrum.h.maxCoeff();
  constexpr double kLowest = 1e-10, kHighest = 1e4, kRatio = 3.0;  // the score has no structure finer than a factor
  double best = lambda, lowest = spectrum.gcv(lambda);
  for (double t = std::max(floor, kLowest); t < kHighest; t *= kRatio) {
    const double score = spectrum.gcv(t * largest);
    if (!(score < lowest * (1.0 - 1e-9))) continue;
    lowest = score;
    best = t * largest;
  }
  return best == lambda ? lambda : ridge_fixed_point(spectrum, best, floor, iterations, tolerance);
}

}  // namespace kernsift
