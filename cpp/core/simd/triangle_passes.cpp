#include "core/simd/triangle_passes.hpp"

#include <algorithm>

#include "core/simd/packets.hpp"

namespace kernsift {

namespace {

constexpr Index kColumns = 4;  // taken together: their sums stay in registers

// The lanes from the `first`, which may lie before or behind the packet.
Lanes from(Index first) { return lanes(std::min<Index>(std::max<Index>(first, 0), kLanes), kLanes); }

// The columns j .. j + kColumns of C first get sum_r scale_r u_r u_r' over the `n_owed` columns of U; then they and, by
// symmetry, their rows are multiplied: out += C(:, j..) x(j..) below the diagonal, out(j..) += C(:, j..)' x.
template <int n_owed>
void pass(double* C, Index stride, Index n, const double* U, Index u_stride, const double* scale, const double* x,
          double* out) {
  for (Index i = 0; i < n; ++i) out[i] = 0;
  for (Index j = 0; j < n; j += kColumns) {
    const Index columns = std::min(kColumns, n - j);
    double* column[kColumns];
    Packet su[kColumns][n_owed + 1], xj[kColumns], sum[kColumns];
    for (Index c = 0; c < columns; ++c) {
      column[c] = C + (j + c) * stride;
      for (int r = 0; r < n_owed; ++r) su[c][r] = splat(scale[r] * U[r * u_stride + j + c]);
      xj[c] = splat(x[j + c]);
      sum[c] = splat(0.0);
    }
    // Rows i .. i + kLanes of the columns, of which some meet the diagonal or the end.
    const auto edge = [&](Index i) {
      const Lanes inside = lanes(0, n - i);
      const Packet xi = load(x + i, inside);
      Packet yi = load(out + i, inside), ui[n_owed + 1];
      for (int r = 0; r < n_owed; ++r) ui[r] = load(U + r * u_stride + i, inside);
      for (Index c = 0; c < columns; ++c) {
        const Lanes lower = inside & from(j + c - i), strictly = inside & from(j + c - i + 1);
        Packet entry = load(column[c] + i, lower);
        for (int r = 0; r < n_owed; ++r) entry = only(simd::pmadd(ui[r], su[c][r], entry), lower);
        if (n_owed > 0) store(column[c] + i, entry, lower);
        sum[c] = simd::pmadd(entry, xi, sum[c]);
        yi = simd::pmadd(only(entry, strictly), xj[c], yi);
      }
      store(out + i, yi, inside);
    };
    Index i = j - j % kLanes;  // packets lie where those of the other columns do
    for (; i < j + columns; i += kLanes) edge(i);
    for (; i + kLanes <= n; i += kLanes) {  // rows below kColumns columns: behind fewer there are none
      const Packet xi = load(x + i);
      Packet yi = load(out + i), ui[n_owed + 1];
      for (int r = 0; r < n_owed; ++r) ui[r] = load(U + r * u_stride + i);
      for (Index c = 0; c < kColumns; ++c) {
        Packet entry = load(column[c] + i);
        for (int r = 0; r < n_owed; ++r) entry = simd::pmadd(ui[r], su[c][r], entry);
        if (n_owed > 0) store(column[c] + i, entry);
        yi = simd::pmadd(entry, xj[c], yi);
        sum[c] = simd::pmadd(entry, xi, sum[c]);
      }
      store(out + i, yi);
    }
    if (i < n) edge(i);
    for (Index c = 0; c < columns; ++c) out[j + c] += simd::predux(sum[c]);
  }
}

// Unknowns of a block, kTiles packets of them; the packets of a row of its triangle left of the diagonal, over minus
// the diagonal element.
constexpr int kTiles = kLanes < kColumns ? kColumns / kLanes : 1, kBlock = kTiles * kLanes;
using Tile = simd::PacketBlock<Packet, kLanes>;

// The unknowns `last` .. 0 one after another: each goes into those before it.
template <int last>
inline void substitute_in(const Tile (&rows)[kTiles][kTiles], Packet* rest) {
  if constexpr (last > 0) {
    constexpr int tile = last / kLanes;
    const Packet x = spread<last % kLanes>(rest[tile]);
    for (int t = 0; t <= tile; ++t) rest[t] = simd::pmadd(x, rows[tile][t].packet[last % kLanes], rest[t]);
    substitute_in<last - 1>(rows, rest);
  }
}

// A block of unknowns at a time, the last first. The products with those solved before begin with the oldest, so that
// they need not wait for the block solved just now.
template <int n_rhs>
void substitute(const double* L, Index stride, Index n, double* X, Index x_stride) {
  for (Index j = (n - 1) / kBlock * kBlock; j >= 0; j -= kBlock) {
    const double* const columns = L + j * stride;
    Tile sum[n_rhs][kTiles], rows[kTiles][kTiles];
    for (int r = 0; r < n_rhs; ++r)
      for (int c = 0; c < kBlock; ++c) sum[r][c / kLanes].packet[c % kLanes] = splat(0.0);
    const auto below = [&](Index i, auto... some) {
      Packet x[n_rhs];
      for (int r = 0; r < n_rhs; ++r) x[r] = load(X + r * x_stride + i, some...);
      for (int c = 0; c < kBlock; ++c) {
        const Packet entry = load(columns + c * stride + i, some...);
        for (int r = 0; r < n_rhs; ++r) {
          Packet& total = sum[r][c / kLanes].packet[c % kLanes];
          total = simd::pmadd(entry, x[r], total);
        }
      }
    };
    Index i = n / kLanes * kLanes;
    if (i < n && i >= j + kBlock) below(i, lanes(0, n - i));
    for (i -= kLanes; i >= j + kBlock; i -= kLanes) below(i);

    double diagonal[kBlock];
    for (int c = 0; c < kBlock; ++c) diagonal[c] = j + c < n ? columns[c * stride + j + c] : 1.0;
    Packet inverse[kTiles];
    for (int tile = 0; tile < kTiles; ++tile) {
      const Index row = j + tile * kLanes;
      inverse[tile] = simd::pdiv(splat(1.0), load(diagonal + tile * kLanes));
      double factor[kLanes];
      store(factor, inverse[tile]);
      for (int t = 0; t <= tile; ++t) {
        for (int c = 0; c < kLanes; ++c) {
          const int column = t * kLanes + c;
          const Lanes left = from(j + column + 1 - row) & lanes(0, std::max<Index>(n - row, 0));
          rows[tile][t].packet[c] = load(columns + column * stride + row, left);
        }
        simd::ptranspose(rows[tile][t]);
        for (int c = 0; c < kLanes; ++c)
          rows[tile][t].packet[c] = simd::pmul(rows[tile][t].packet[c], splat(-factor[c]));
      }
    }
    for (int r = 0; r < n_rhs; ++r) {
      double* const x = X + r * x_stride + j;
      Packet rest[kTiles];
      for (int tile = 0; tile < kTiles; ++tile) {
        Tile& total = sum[r][tile];
        simd::ptranspose(total);
        for (int width = kLanes / 2; width > 0; width /= 2)
          for (int c = 0; c < width; ++c) total.packet[c] = simd::padd(total.packet[c], total.packet[c + width]);
        const Lanes inside = lanes(0, std::max<Index>(n - j - tile * kLanes, 0));
        rest[tile] = simd::psub(load(x + tile * kLanes, inside), total.packet[0]);
      }
      substitute_in<kBlock - 1>(rows, rest);
      for (int tile = 0; tile < kTiles; ++tile)
        store(x + tile * kLanes, simd::pmul(rest[tile], inverse[tile]),
              lanes(0, std::max<Index>(n - j - tile * kLanes, 0)));
    }
  }
}

}  // namespace

void update_and_apply(MatrixRef C, const ConstMatrixRef& U, const double* scales, const ConstVectorRef& x,
                      VectorRef out) {
  const auto run = U.cols() == 1 ? pass<1> : pass<2>;
  run(C.data(), C.outerStride(), C.rows(), U.data(), U.outerStride(), scales, x.data(), out.data());
}

void apply_lower(const ConstMatrixRef& C, const ConstVectorRef& x, VectorRef out) {
  pass<0>(const_cast<double*>(C.data()), C.outerStride(), C.rows(), nullptr, 0, nullptr, x.data(), out.data());
}

void back_substitute(const ConstMatrixRef& L, MatrixRef X) {
  const Index n = L.rows(), stride = L.outerStride(), x_stride = X.outerStride();
  switch (X.cols()) {
    case 1:
      return substitute<1>(L.data(), stride, n, X.data(), x_stride);
    case 2:
      return substitute<2>(L.data(), stride, n, X.data(), x_stride);
    case 3:
      return substitute<3>(L.data(), stride, n, X.data(), x_stride);
  }
}

}  // namespace kernsift
