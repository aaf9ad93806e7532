#include "core/stream/resolved_span.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernsift {

namespace {
constexpr Index kSpanTile = 64;  // rows whose coordinates are computed together
}

// The rows prepared, their coordinates in the first size() rows of coordinates_.
void ResolvedSpan::prepare(const Rows& X) {
  kernel().prepare(X, rows_);
  const Index padded = basis_.dictionary().padded(), n = X.rows();
  if (coordinates_.rows() < padded || coordinates_.cols() < n)
    coordinates_.resize(grown_capacity(coordinates_.rows(), padded), std::max(n, coordinates_.cols()));
  basis_.coordinates(rows_, 0, n, coordinates_);
}

void ResolvedSpan::coordinates(const Rows& X, RowsOut out) {
  for (Index first = 0; first < X.rows(); first += kSpanTile) {
    const Index count = std::min(kSpanTile, X.rows() - first);
    prepare(X.middleRows(first, count));
    out.middleRows(first, count) = coordinates_.topLeftCorner(size(), count).transpose();
  }
}

void ResolvedSpan::novelty(const Rows& X, Vector& distance, Vector& bound) {
  distance.resize(X.rows());
  bound.resize(X.rows());
  for (Index first = 0; first < X.rows(); first += kSpanTile) {
    const Index count = std::min(kSpanTile, X.rows() - first);
    prepare(X.middleRows(first, count));
    const auto W = coordinates_.topLeftCorner(size(), count);
    projection_ = W;
    span().coefficients(projection_);
    for (Index r = 0; r < count; ++r) {
      const double self = kernel().self(rows_, r);
      distance[first + r] = std::max(basis_.distance(W.col(r), self), 0.0);
      bound[first + r] =
          2 * std::numeric_limits<double>::epsilon() * (self + dictionary().weighted_squares(projection_.col(r)));
    }
  }
}

bool ResolvedSpan::append(const double* x) {
  const Eigen::Map<const RowMatrix> X(x, 1, kernel().n_features());
  prepare(X);
  const auto w = coordinates_.col(0).head(size());
  const double self = kernel().self(rows_, 0), distance = basis_.distance(w, self);
  const auto projection = [&]() -> ConstVectorRef {
    projection_ = w;
    span().coefficients(projection_);
    return projection_.col(0);
  };
  if (!(self > 0) ||
      !is_resolved(distance, self, dictionary(), span().inverse_norm(), KernelSpan::kResolution, projection))
    return false;
  basis_.append(x, rows_, 0, joined_++, w, std::sqrt(distance));
  return true;
}

}  // namespace kernsift
