#include "core/simd/triangle_passes.hpp"

#include <algorithm>
#include <type_traits>

#include "core/simd/packets.hpp"

namespace kernsift {

namespace {

// Columns taken together, whose sums stay in registers: kTiles packets of them.
constexpr int kTiles = kLanes < 4 ? 4 / kLanes : 1, kBlock = kTiles * kLanes;
using Tile = simd::PacketBlock<Packet, kLanes>;

// The lanes from the `first`, which may lie before or behind the packet; those of a packet that are before `end`.
Lanes from(Index first) { return lanes(std::min<Index>(std::max<Index>(first, 0), kLanes), kLanes); }
Lanes before(Index end) { return lanes(0, std::max<Index>(end, 0)); }

void clear(Tile& tile) {
  for (int c = 0; c < kLanes; ++c) tile.packet[c] = splat(0.0);
}
// The sum of each packet of a tile.
Packet sums(Tile& tile) {
  simd::ptranspose(tile);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int c = 0; c < width; ++c) tile.packet[c] = simd::padd(tile.packet[c], tile.packet[c + width]);
  return tile.packet[0];
}

// The columns j .. j + kBlock of C first get sum_r scale_r u_r u_r' over the `n_owed` columns of U; then they and, by
// symmetry, their rows are multiplied: out += C(:, j..) x(j..) below the diagonal, out(j..) += C(:, j..)' x.
template <int n_owed>
void pass(double* C, Index stride, Index n, const double* U, Index u_stride, const double* scale, const double* x,
          double* out) {
  for (Index i = 0; i < n; ++i) out[i] = 0;
  for (Index j = 0; j < n; j += kBlock) {
    double* const columns = C + j * stride;
    Packet su[n_owed + 1][kBlock], xj[kBlock];
    Tile sum[kTiles];
    for (int tile = 0; tile < kTiles; ++tile) clear(sum[tile]);
    for (int c = 0; c < kBlock; ++c) {
      const bool there = j + c < n;
      for (int r = 0; r < n_owed; ++r) su[r][c] = splat(there ? scale[r] * U[r * u_stride + j + c] : 0.0);
      xj[c] = splat(there ? x[j + c] : 0.0);
    }
    // Rows i .. i + kLanes of the columns, of which some meet the diagonal or the end.
    const auto edge = [&](Index i) {
      const Lanes inside = before(n - i);
      const Packet xi = load(x + i, inside);
      Packet yi = load(out + i, inside), ui[n_owed + 1];
      for (int r = 0; r < n_owed; ++r) ui[r] = load(U + r * u_stride + i, inside);
      for (int c = 0; c < kBlock; ++c) {
        const Lanes lower = inside & from(j + c - i), strictly = inside & from(j + c - i + 1);
        Packet entry = load(columns + c * stride + i, lower);
        for (int r = 0; r < n_owed; ++r) entry = only(simd::pmadd(ui[r], su[r][c], entry), lower);
        if (n_owed > 0) store(columns + c * stride + i, entry, lower);
        Packet& total = sum[c / kLanes].packet[c % kLanes];
        total = simd::pmadd(entry, xi, total);
        yi = simd::pmadd(only(entry, strictly), xj[c], yi);
      }
      store(out + i, yi, inside);
    };
    Index i = j;
    for (; i < j + kBlock && i < n; i += kLanes) edge(i);
    for (; i + kLanes <= n; i += kLanes) {
      const Packet xi = load(x + i);
      Packet yi = load(out + i), ui[n_owed + 1];
      for (int r = 0; r < n_owed; ++r) ui[r] = load(U + r * u_stride + i);
      for (int c = 0; c < kBlock; ++c) {
        Packet entry = load(columns + c * stride + i);
        for (int r = 0; r < n_owed; ++r) entry = simd::pmadd(ui[r], su[r][c], entry);
        if (n_owed > 0) store(columns + c * stride + i, entry);
        yi = simd::pmadd(entry, xj[c], yi);
        Packet& total = sum[c / kLanes].packet[c % kLanes];
        total = simd::pmadd(entry, xi, total);
      }
      store(out + i, yi);
    }
    if (i < n) edge(i);
    for (int tile = 0; tile < kTiles; ++tile) {
      double* const at = out + j + tile * kLanes;
      const Lanes inside = before(n - j - tile * kLanes);
      store(at, simd::padd(load(at, inside), sums(sum[tile])), inside);
    }
  }
}

// The packets of a row of a block's triangle left of the diagonal are kept over minus the diagonal element.
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
    for (auto& each : sum)
      for (Tile& tile : each) clear(tile);
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
    if (i < n && i >= j + kBlock) below(i, before(n - i));
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
          const Lanes left = from(j + column + 1 - row) & before(n - row);
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
        rest[tile] = simd::psub(load(x + tile * kLanes, before(n - j - tile * kLanes)), sums(sum[r][tile]));
      }
      substitute_in<kBlock - 1>(rows, rest);
      for (int tile = 0; tile < kTiles; ++tile)
        store(x + tile * kLanes, simd::pmul(rest[tile], inverse[tile]), before(n - j - tile * kLanes));
    }
  }
}

// Forward substitution for many columns: a strip of rows at a time, two packets of them in registers for `sides`
// columns. What lies left of the strip's triangle is copied for many columns, negative, so that they read it in order.
constexpr int kStrip = 2 * kLanes, kSides = kLanes < 8 ? 4 : 8;
constexpr Index kDepth = 128;

struct Strip {
  alignas(Packet) double left[kDepth * kStrip];
  Packet corner[kStrip][2], inverse[2];  // columns below the diagonal over minus its element, 1 / the diagonal
};

inline Packet load_before(const double* x, Index end) {
  return end >= kLanes ? load(x) : end > 0 ? load(x, before(end)) : splat(0.0);
}
inline void store_before(double* x, const Packet& p, Index end) {
  if (end >= kLanes)
    store(x, p);
  else if (end > 0)
    store(x, p, before(end));
}

// The strip's rows less their products with `depth` rows that are solved.
template <int sides>
void subtract(const Strip& strip, Index depth, const double* solved, double* rows, Index x_stride, Index end) {
  Packet rest[sides][2];
  for (int r = 0; r < sides; ++r)
    for (int t = 0; t < 2; ++t) rest[r][t] = load_before(rows + r * x_stride + t * kLanes, end - t * kLanes);
  for (Index c = 0; c < depth; ++c) {
    const Packet first = load(strip.left + c * kStrip), second = load(strip.left + c * kStrip + kLanes);
    for (int r = 0; r < sides; ++r) {
      const Packet x = splat(solved[r * x_stride + c]);
      rest[r][0] = simd::pmadd(first, x, rest[r][0]);
      rest[r][1] = simd::pmadd(second, x, rest[r][1]);
    }
  }
  for (int r = 0; r < sides; ++r)
    for (int t = 0; t < 2; ++t) store_before(rows + r * x_stride + t * kLanes, rest[r][t], end - t * kLanes);
}

// For one column it is the other way round: the `end` - kStrip rows below the strip, a column of L after another, less
// their products with the strip's, which are solved.
void push(const double* columns, Index stride, Index end, double* x) {
  Packet solved[kStrip];
  for (int c = 0; c < kStrip; ++c) solved[c] = splat(end > kStrip ? -x[c] : 0.0);
  for (Index i = kStrip; i < end; i += kLanes) {
    Packet y = load_before(x + i, end - i), z = splat(0.0);  // two sums, that wait half as long
    for (int c = 0; c < kLanes; ++c) {
      y = simd::pmadd(load_before(columns + c * stride + i, end - i), solved[c], y);
      z = simd::pmadd(load_before(columns + (c + kLanes) * stride + i, end - i), solved[c + kLanes], z);
    }
    store_before(x + i, simd::padd(y, z), end - i);
  }
}

template <int sides, int lane>
inline void solve_from(const Strip& strip, Packet (&rest)[sides][2]) {
  if constexpr (lane < kStrip) {
    constexpr int t = lane / kLanes;
    for (int r = 0; r < sides; ++r) {
      const Packet x = spread<lane % kLanes>(rest[r][t]);
      for (int below = t; below < 2; ++below)
        rest[r][below] = simd::pmadd(x, strip.corner[lane][below], rest[r][below]);
    }
    solve_from<sides, lane + 1>(strip, rest);
  }
}

template <int sides>
void solve(const Strip& strip, double* rows, Index x_stride, Index end) {
  Packet rest[sides][2];
  for (int r = 0; r < sides; ++r)
    for (int t = 0; t < 2; ++t) rest[r][t] = load_before(rows + r * x_stride + t * kLanes, end - t * kLanes);
  solve_from<sides, 0>(strip, rest);
  for (int r = 0; r < sides; ++r)
    for (int t = 0; t < 2; ++t)
      store_before(rows + r * x_stride + t * kLanes, simd::pmul(rest[r][t], strip.inverse[t]), end - t * kLanes);
}

// work(number of columns, the first of them) for all columns.
template <class Work>
void in_groups(MatrixRef X, const Work& work) {
  Index r = 0;
  for (; r + kSides <= X.cols(); r += kSides)
    work(std::integral_constant<int, kSides>{}, X.data() + r * X.outerStride());
  for (; r + 2 <= X.cols(); r += 2) work(std::integral_constant<int, 2>{}, X.data() + r * X.outerStride());
  for (; r < X.cols(); ++r) work(std::integral_constant<int, 1>{}, X.data() + r * X.outerStride());
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

void forward_substitute(const ConstMatrixRef& L, MatrixRef X) {
  const Index n = L.rows(), stride = L.outerStride(), x_stride = X.outerStride();
  const bool one = X.cols() == 1;
  Strip strip;
  for (Index row = 0; row < n; row += kStrip) {
    const double* const rows = L.data() + row;
    const Index end = n - row;
    for (Index first = 0; first < row && !one; first += kDepth) {
      const Index depth = std::min(kDepth, row - first);
      for (Index c = 0; c < depth; ++c)
        for (int t = 0; t < 2; ++t)
          store(strip.left + c * kStrip + t * kLanes,
                simd::pnegate(load_before(rows + (first + c) * stride + t * kLanes, end - t * kLanes)));
      in_groups(X, [&](auto sides, double* x) { subtract<sides>(strip, depth, x + first, x + row, x_stride, end); });
    }
    double inverse[kStrip];
    for (Index c = 0; c < kStrip; ++c) {
      const double* const column = rows + (row + c) * stride;
      inverse[c] = c < end ? 1.0 / column[c] : 1.0;
      for (int t = 0; t < 2; ++t) {
        const Lanes below = from(c + 1 - t * kLanes) & before(end - t * kLanes);
        strip.corner[c][t] = simd::pmul(load(column + t * kLanes, c < end ? below : 0u), splat(-inverse[c]));
      }
    }
    for (int t = 0; t < 2; ++t) strip.inverse[t] = load(inverse + t * kLanes);
    in_groups(X, [&](auto sides, double* x) { solve<sides>(strip, x + row, x_stride, end); });
    if (one) push(rows + row * stride, stride, end, X.data() + row);
  }
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
