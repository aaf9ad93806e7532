#include "core/linalg/panel_factor.hpp"

#include <algorithm>
#include <type_traits>

#include "core/simd/packets.hpp"

namespace kernsift {

namespace {

constexpr int kPackets = static_cast<int>(PanelMatrix::kRows) / kLanes;  // packets a panel
// Panels and columns a tile: as many sums as the registers hold beside what they are made of.
constexpr int kTilePanels = kLanes == 8 ? 4 : 1;
constexpr int kTileColumns = kPackets == 4 ? 3 : 6;

template <int P, int C, bool Add>
inline void tile(const double* a, Index panel, Index k, const double* const* x, double* out, Index stride) {
  constexpr int Q = P * kPackets;
  Packet sum[C][Q];
  for (int c = 0; c < C; ++c)
    for (int q = 0; q < Q; ++q)
      sum[c][q] = Add ? simd::ploadu<Packet>(out + c * stride + q * kLanes) : simd::pset1<Packet>(0.0);
  for (Index j = 0; j < k; ++j) {
    Packet row[Q];
    for (int q = 0; q < Q; ++q)
      row[q] = simd::pload<Packet>(a + (q / kPackets) * panel + j * PanelMatrix::kRows + (q % kPackets) * kLanes);
    for (int c = 0; c < C; ++c) {
      const Packet xj = simd::pset1<Packet>(x[c][j]);
      for (int q = 0; q < Q; ++q) sum[c][q] = simd::pmadd(row[q], xj, sum[c][q]);
    }
  }
  for (int c = 0; c < C; ++c)
    for (int q = 0; q < Q; ++q) simd::pstoreu(out + c * stride + q * kLanes, sum[c][q]);
}

template <int P, bool Add>
void columns(const double* a, Index panel, Index k, const double* const* x, Index n, double* out, Index stride) {
  Index c = 0;
  for (; c + kTileColumns <= n; c += kTileColumns)
    tile<P, kTileColumns, Add>(a, panel, k, x + c, out + c * stride, stride);
  switch (n - c) {
    case 5:
      return tile<P, 5, Add>(a, panel, k, x + c, out + c * stride, stride);
    case 4:
      return tile<P, 4, Add>(a, panel, k, x + c, out + c * stride, stride);
    case 3:
      return tile<P, 3, Add>(a, panel, k, x + c, out + c * stride, stride);
    case 2:
      return tile<P, 2, Add>(a, panel, k, x + c, out + c * stride, stride);
    case 1:
      return tile<P, 1, Add>(a, panel, k, x + c, out + c * stride, stride);
    default:
      return;
  }
}

}  // namespace

void PanelMatrix::reset(Index n, Index k) {
  panels_ = round_up(n, kRows) / kRows;
  columns_ = k;
  const Index size = padded_rows() * k;
  if (values_.size() < size) values_.resize(size);
  values_.head(size).setZero();
}

void PanelMatrix::add_product(Index rows, const double* const* x, MatrixRef out) const {
  const Index panel = columns_ * kRows, panels = round_up(rows, kRows) / kRows, n = out.cols();
  const auto run = [&](auto tile_panels, Index p) {
    columns<tile_panels, true>(values_.data() + p * panel, panel, columns_, x, n, out.data() + p * kRows,
                               out.outerStride());
  };
  Index p = 0;
  for (; p + kTilePanels <= panels; p += kTilePanels) run(std::integral_constant<int, kTilePanels>{}, p);
  for (; p < panels; ++p) run(std::integral_constant<int, 1>{}, p);
}

void PanelMatrix::triangular_product(Index rows, MatrixRef inout) const {
  const Index panel = columns_ * kRows, n = inout.cols(), stride = inout.outerStride();
  const double* x[kTileColumns];
  for (Index first = 0; first < n; first += kTileColumns) {
    const Index count = std::min<Index>(kTileColumns, n - first);
    double* const top = inout.data() + first * stride;
    for (Index c = 0; c < count; ++c) x[c] = top + c * stride;
    for (Index p = round_up(rows, kRows) / kRows; p-- > 0;)  // from below: what a panel reads is still as it was
      columns<1, false>(values_.data() + p * panel, panel, std::min((p + 1) * kRows, columns_), x, count,
                        top + p * kRows, stride);
  }
}

void PanelFactor::begin(Index before) {
  before_ = before;
  size_ = 0;
  below_.reset(kSteps, before);
  inverse_.reset(kSteps, kSteps);
}

void PanelFactor::append(const ConstVectorRef& w, double s) {
  const Index i = size_++;
  for (Index k = 0; k < before_; ++k) below_(i, k) = -w[k];
  // the next row of a triangle's inverse: (-l'L^-1, 1) / s
  for (Index j = 0; j < i; ++j) {
    double sum = 0;
    for (Index k = j; k < i; ++k) sum += w[before_ + k] * inverse_(k, j);
    inverse_(i, j) = -sum / s;
  }
  inverse_(i, i) = 1 / s;
}

void PanelFactor::coordinates(const double* const* known, MatrixRef K) const {
  if (size_ == 0) return;
  below_.add_product(size_, known, K);
  inverse_.triangular_product(size_, K);
}

}  // namespace kernsift
