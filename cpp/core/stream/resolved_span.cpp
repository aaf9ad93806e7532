#include "core/stream/resolved_span.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stream/admission.hpp"

namespace kernsift {

namespace {
constexpr Index kSpanTile = 64;  // rows whose coordinates are computed together
}

// The rows prepared, their coordinates in the first size() rows of coordinates_.
void ResolvedSpan::prepare(const Rows& X) {
  kernel().prepare(X, rows_);
  const Index padded = dictionary_.padded(), n = X.rows();
  if (coordinates_.rows() < padded || coordinates_.cols() < n)
    coordinates_.resize(grown_capacity(coordinates_.rows(), padded), std::max(n, coordinates_.cols()));
  dictionary_.block(rows_, 0, n, coordinates_.topLeftCorner(padded, n));
  span_.coordinates(coordinates_.topLeftCorner(size(), n));
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
      distance[first + r] = std::max(self - W.col(r).squaredNorm(), 0.0);
      bound[first + r] =
          2 * std::numeric_limits<double>::epsilon() * (self + dictionary().weighted_squares(projection_.col(r)));
    }
  }
}

bool ResolvedSpan::append(const double* x) {
  const Eigen::Map<const RowMatrix> X(x, 1, kernel().n_features());
  prepare(X);
  const auto w = coordinates_.col(0).head(size());
  const double self = kernel().self(rows_, 0), distance = self - w.squaredNorm();
  const auto projection = [&]() -> ConstVectorRef {
    projection_ = w;
    span().coefficients(projection_);
    return projection_.col(0);
  };
  if (!(self > 0) ||
      !is_resolved(distance, self, dictionary(), span().inverse_norm(), KernelSpan::kResolution, projection))
    return false;
  span_.append(w, std::sqrt(distance));
  dictionary_.append(x, rows_, 0, joined_++);
  return true;
}

void ResolvedSpan::remove(Index i) {
  span_.remove(i, rotations_);
  dictionary_.remove(i);
}

void ResolvedSpan::save(Arrays& arrays) const {
  arrays.put("factor", Matrix(span_.factor()));
  dictionary_.save(arrays);
}

void ResolvedSpan::load(const Arrays& arrays) {
  dictionary_.load(arrays);
  span_.assign(arrays.get_factor("factor", dictionary_.size()));
  joined_ = dictionary_.ids().empty() ? 0 : dictionary_.ids().back() + 1;
}

}  // namespace kernsift
