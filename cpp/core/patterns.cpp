#include "core/patterns.hpp"

#include <algorithm>
#include <utility>

namespace kernsift {

namespace {
constexpr Index kTile = 256;
}

Panels elements_of(const Kernel& kernel, const PreparedRows& rows) {
  Panels elements(kernel.n_features());
  elements.reserve(rows.size());
  for (Index i = 0; i < rows.size(); ++i) elements.append(rows.coordinates(i), rows.norm(i));
  return elements;
}

Patterns::Patterns(const Kernel& kernel, const Rows& X, std::vector<Index> which)
    : kernel_(kernel), X_(X), which_(std::move(which)), self_(Vector::Ones(size())) {
  if (kernel.stationary()) return;
  PreparedRows tile;
  for (Index first = 0; first < size(); first += kTile) {
    const Index count = std::min(kTile, size() - first);
    prepare(first, count, tile);
    for (Index i = 0; i < count; ++i) self_[first + i] = kernel.self(tile, i);
  }
}

void Patterns::prepare(const Index* list, Index n, PreparedRows& out) {
  if (gathered_.rows() < n) gathered_.resize(n, X_.cols());
  for (Index i = 0; i < n; ++i) gathered_.row(i) = X_.row(which_[list[i]]);
  prepare_gathered(n, out);
}

void Patterns::prepare(Index first, Index n, PreparedRows& out) {
  if (gathered_.rows() < n) gathered_.resize(n, X_.cols());
  for (Index i = 0; i < n; ++i) gathered_.row(i) = X_.row(which_[first + i]);
  prepare_gathered(n, out);
}

void Patterns::prepare_gathered(Index n, PreparedRows& out) { kernel_.prepare(gathered_.topRows(n), out); }

PatternCoordinates::PatternCoordinates(Patterns& patterns, Index capacity)
    : patterns_(patterns),
      tiles_((patterns.size() + kTile - 1) / kTile),
      W_(capacity, patterns.size()),
      residual_(patterns.self()) {
  for (Index first = 0; first < patterns.size(); first += kTile)
    patterns.prepare(first, std::min(kTile, patterns.size() - first), tiles_[first / kTile]);
}

void PatternCoordinates::append(const Panels& elements, const ConstMatrixRef& L) {
  const Index n = size_, b = elements.size(), l = patterns_.size();
  const auto below = L.block(n, 0, b, n);
  Matrix K(elements.padded(), kTile);
  for (Index first = 0; first < l; first += kTile) {
    const Index count = std::min(kTile, l - first);
    patterns_.kernel().block(elements, tiles_[first / kTile], 0, count, K);
    auto W = W_.block(n, first, b, count);
    W = K.topLeftCorner(b, count);
    if (n > 0) W.noalias() -= below * W_.block(0, first, n, count);
    L.block(n, n, b, b).triangularView<Eigen::Lower>().solveInPlace(W);  // [MATH 1.2]
    residual_.segment(first, count) -= W.colwise().squaredNorm().transpose();
  }
  size_ += b;
}

}  // namespace kernsift
