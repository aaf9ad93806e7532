#include "core/kernel/warp.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "core/simd/packets.hpp"

namespace kernsift {

Warp::Warp(RowMatrix knots, RowMatrix slopes) : knots_(std::move(knots)), slopes_(std::move(slopes)) {
  const Index d = slopes_.rows(), bins = slopes_.cols();
  if (d < 1 || knots_.rows() != d || knots_.cols() != bins + 1)
    throw std::invalid_argument("warp: knots and slopes need a row for each feature, and knots one column more");
  begin_ = per_length_ = rise_ = Matrix::Zero(whole_packets(d), bins);
  for (Index j = 0; j < d; ++j) {
    const std::string feature = "warp: feature " + std::to_string(j);
    if (!std::isfinite(knots_(j, 0))) throw std::invalid_argument(feature + " needs a finite first knot");
    bool ended = false;
    for (Index b = 0; b < bins; ++b) {
      const double knot = knots_(j, b + 1), slope = slopes_(j, b);
      ended = ended || (std::isnan(knot) && std::isnan(slope));
      if (ended) {
        if (!std::isnan(knot) || !std::isnan(slope))
          throw std::invalid_argument(feature + " has knots or slopes behind its last bin");
        continue;
      }
      const double length = knot - knots_(j, b);
      if (!(length > 0) || !std::isfinite(length) || !std::isfinite(1.0 / length))
        throw std::invalid_argument(feature + " has knots that do not increase, or not by a finite amount");
      if (!(slope > 0) || !std::isfinite(slope))
        throw std::invalid_argument(feature + " has a slope that is not positive and finite");
      begin_(j, b) = knots_(j, b);
      per_length_(j, b) = 1.0 / length;
      rise_(j, b) = slope;
      ++n_slopes_;
    }
  }
  if (n_slopes_ == 0) throw std::invalid_argument("warp: every feature is switched off");
}

Warp Warp::with(const ConstVectorRef& slopes) const {
  if (slopes.size() != n_slopes_)
    throw std::invalid_argument("warp: " + std::to_string(n_slopes_) + " slopes are needed, got " +
                                std::to_string(slopes.size()));
  RowMatrix other = slopes_;
  Index next = 0;
  for (Index j = 0; j < other.rows(); ++j)
    for (Index b = 0; b < other.cols(); ++b)
      if (!std::isnan(other(j, b))) other(j, b) = slopes[next++];
  return Warp(knots_, std::move(other));
}

void Warp::values(const double* x, double* w) const {
  const Index d = n_features();
  const Packet zero = splat(0.0), one = splat(1.0);
  for (Index first = 0; first < d; first += kLanes) {
    const Index count = std::min<Index>(kLanes, d - first);
    double part[kLanes] = {};
    std::copy_n(x + first, count, part);
    const Packet at = load(part);
    Packet sum = zero;
    for (Index b = 0; b < n_bins(); ++b) {
      const double* column = begin_.data() + b * begin_.rows() + first;
      const Packet length = load(per_length_.data() + b * begin_.rows() + first);
      const Packet h = simd::pmin(simd::pmax(simd::pmul(simd::psub(at, load(column)), length), zero), one);
      sum = simd::pmadd(load(rise_.data() + b * begin_.rows() + first), h, sum);  // [BEYOND B10]
    }
    store(part, sum);
    std::copy_n(part, count, w + first);
  }
}

void Warp::add_slopes(const Rows& X, const Rows& G, VectorRef out) const {
  Index next = 0;
  for (Index j = 0; j < n_features(); ++j)
    for (Index b = 0; b < n_bins() && rise_(j, b) > 0; ++b) {
      const auto h = ((X.col(j).array() - begin_(j, b)) * per_length_(j, b)).max(0.0).min(1.0);
      out[next++] += rise_(j, b) * (G.col(j).array() * h).sum();  // [BEYOND B11]
    }
}

double Warp::unlikeness(const ConstVectorRef& log_slopes, double scale, Vector* slope) const {
  double sum = 0;
  Index first = 0;
  for (Index j = 0; j < n_features(); ++j) {
    Index bins = 0;
    while (bins < n_bins() && rise_(j, bins) > 0) ++bins;
    if (bins == 0) continue;
    Eigen::ArrayXd r = log_slopes.segment(first, bins).array() - rise_.row(j).head(bins).transpose().array().log();
    r -= r.mean();
    sum += r.square().sum();                                             // [BEYOND B12]
    if (slope) slope->segment(first, bins) += 2.0 * scale * r.matrix();  // [BEYOND B12]
    first += bins;
  }
  return sum;
}

}  // namespace kernsift
