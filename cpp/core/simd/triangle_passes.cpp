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

// Columns j .. j + columns of L against what is solved already, then their own triangle.
template <int n_rhs>
void substitute(const double* L, Index stride, Index n, double* X, Index x_stride) {
  for (Index last = n; last > 0;) {
    const Index columns = last % kColumns == 0 ? kColumns : last % kColumns, j = last - columns;
    double dot[kColumns][n_rhs] = {};
    if (columns == kColumns) {
      Packet sum[kColumns][n_rhs];
      for (Index c = 0; c < kColumns; ++c)
        for (int r = 0; r < n_rhs; ++r) sum[c][r] = splat(0.0);
      const double* column = L + j * stride;
      const auto edge = [&](Index i, Lanes some) {
        Packet x[n_rhs];
        for (int r = 0; r < n_rhs; ++r) x[r] = load(X + r * x_stride + i, some);
        for (Index c = 0; c < kColumns; ++c) {
          const Packet entry = load(column + c * stride + i, some);
          for (int r = 0; r < n_rhs; ++r) sum[c][r] = simd::pmadd(entry, x[r], sum[c][r]);
        }
      };
      Index i = last - last % kLanes;  // packets lie where those of the other columns do
      if (i < last) {
        edge(i, lanes(0, n - i) & from(last - i));
        i += kLanes;
      }
      for (; i + kLanes <= n; i += kLanes) {
        Packet x[n_rhs];
        for (int r = 0; r < n_rhs; ++r) x[r] = load(X + r * x_stride + i);
        for (Index c = 0; c < kColumns; ++c) {
          const Packet entry = load(column + c * stride + i);
          for (int r = 0; r < n_rhs; ++r) sum[c][r] = simd::pmadd(entry, x[r], sum[c][r]);
        }
      }
      if (i < n) edge(i, lanes(0, n - i));
      for (Index c = 0; c < kColumns; ++c)
        for (int r = 0; r < n_rhs; ++r) dot[c][r] = simd::predux(sum[c][r]);
    }
    for (Index c = columns - 1; c >= 0; --c) {
      const double* column = L + (j + c) * stride;
      for (int r = 0; r < n_rhs; ++r) {
        double* x = X + r * x_stride;
        double rest = x[j + c] - dot[c][r];
        for (Index i = j + c + 1; i < last; ++i) rest = fused(-column[i], x[i], rest);
        x[j + c] = rest / column[j + c];
      }
    }
    last = j;
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
