#include "core/select/selectable_rows.hpp"

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

SelectableRows::SelectableRows(const Kernel& kernel, const Rows& X, std::vector<Index> which)
    : kernel_(kernel), X_(X), which_(std::move(which)), self_(Vector::Ones(size())) {
  if (kernel.stationary()) return;
  PreparedRows tile;
  for (Index first = 0; first < size(); first += kTile) {
    const Index count = std::min(kTile, size() - first);
    prepare(first, count, tile);
    for (Index i = 0; i < count; ++i) self_[first + i] = kernel.self(tile, i);
  }
}

void SelectableRows::prepare(const Index* list, Index n, PreparedRows& out) {
  if (gathered_.rows() < n) gathered_.resize(n, X_.cols());
  for (Index i = 0; i < n; ++i) gathered_.row(i) = X_.row(which_[list[i]]);
  prepare_gathered(n, out);
}

void SelectableRows::prepare(Index first, Index n, PreparedRows& out) {
  if (gathered_.rows() < n) gathered_.resize(n, X_.cols());
  for (Index i = 0; i < n; ++i) gathered_.row(i) = X_.row(which_[first + i]);
  prepare_gathered(n, out);
}

void SelectableRows::prepare_gathered(Index n, PreparedRows& out) { kernel_.prepare(gathered_.topRows(n), out); }

SelectableCoordinates::SelectableCoordinates(SelectableRows& patterns, Index capacity)
    : patterns_(patterns),
      tiles_((patterns.size() + kTile - 1) / kTile),
      W_(capacity + kPanel - 1, patterns.size()),  // the last panel is padded
      residual_(patterns.self()) {
  for (Index first = 0; first < patterns.size(); first += kTile)
    patterns.prepare(first, std::min(kTile, patterns.size() - first), tiles_[first / kTile]);
}

void SelectableCoordinates::append(const Panels& elements, const ConstMatrixRef& L) {
  const Index b = elements.size();
  if (b > 1) {
    std::vector<PanelFactor> factors;
    for (Index i = 0; i < b; ++i) {
      if (i % PanelFactor::kSteps == 0) factors.emplace_back().begin(size_ + i);
      factors.back().append(L.row(size_ + i).head(size_ + i).transpose(), L(size_ + i, size_ + i));
    }
    append(elements, factors, Vector::Zero(patterns_.size()));
    return;
  }
  append(elements, L.row(size_).head(size_).transpose(), L(size_, size_));
}

// One element reads all coordinates for a single product each: memory is what takes the time, not arithmetic.
void SelectableCoordinates::append(const Panels& element, const ConstVectorRef& w, double distance) {
  Matrix K(element.padded(), kTile);
  for (Index first = 0; first < patterns_.size(); first += kTile) {
    const Index count = std::min(kTile, patterns_.size() - first);
    patterns_.kernel().block(element, tiles_[first / kTile], 0, count, K);
    Vector fresh = K.row(0).head(count).transpose();
    fresh.noalias() -= W_.block(0, first, size_, count).transpose() * w;
    fresh /= distance;  // [MATH 1.2]
    W_.row(size_).segment(first, count) = fresh.transpose();
    residual_.segment(first, count) -= fresh.cwiseAbs2();
  }
  ++size_;
}

void SelectableCoordinates::reflect(Index first, const ConstVectorRef& u) {
  auto turned = W_.middleRows(first, u.size());
  turned -= 2.0 * u * (u.transpose() * turned);
}

Vector SelectableCoordinates::append(const Panels& elements, const std::vector<PanelFactor>& factors,
                                     const ConstVectorRef& scale) {
  const double* known[kTile];
  Vector squares = Vector::Zero(elements.size());
  for (Index first = 0; first < patterns_.size(); first += kTile) {
    const Index count = std::min(kTile, patterns_.size() - first);
    for (Index i = 0; i < count; ++i) known[i] = data(first + i);
    auto fresh = W_.block(size_, first, elements.padded(), count);
    patterns_.kernel().block(elements, tiles_[first / kTile], 0, count, fresh);
    for (const PanelFactor& factor : factors)
      factor.coordinates(known, W_.block(factor.before(), first, factor.padded(), count));
    for (Index i = 0; i < count; ++i) {
      const auto w = fresh.col(i).head(elements.size()).array();
      residual_[first + i] -= w.square().sum();
      squares.array() += scale[first + i] * w.square();
    }
  }
  size_ += elements.size();
  return squares;
}

}  // namespace kernsift
