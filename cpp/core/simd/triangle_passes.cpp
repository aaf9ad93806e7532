#include "core/simd/triangle_passes.hpp"

#include "core/simd/packets.hpp"

namespace kernsift {

namespace {

constexpr Index kColumns = 4;  // taken together: their sums stay in registers

// The columns j .. j + kColumns of C first get sum_r scale_r u_r u_r' over the `n_owed` columns of U; then they and, by
// symmetry, their rows are multiplied: out += C(:, j..) x(j..) below the diagonal, out(j..) += C(:, j..)' x.
template <int n_owed>
void pass(double* C, Index stride, Index n, const double* U, Index u_stride, const double* scale, const double* x,
          double* out) {
  for (Index i = 0; i < n; ++i) out[i] = 0;
  for (Index j = 0; j < n; j += kColumns) {
    const Index columns = std::min(kColumns, n - j);
    double* column[kColumns];
    double su[kColumns][n_owed + 1] = {}, dot[kColumns] = {};
    for (Index c = 0; c < columns; ++c) {
      column[c] = C + (j + c) * stride;
      for (int r = 0; r < n_owed; ++r) su[c][r] = scale[r] * U[r * u_stride + j + c];
    }
    const auto update = [&](Index c, Index i) {
      for (int r = 0; r < n_owed; ++r) column[c][i] = fused(su[c][r], U[r * u_stride + i], column[c][i]);
    };
    for (Index c = 0; c < columns; ++c)  // the triangle on the diagonal
      for (Index i = j + c; i < j + columns; ++i) {
        update(c, i);
        dot[c] = fused(column[c][i], x[i], dot[c]);
        if (i > j + c) out[i] = fused(column[c][i], x[j + c], out[i]);
      }
    if (columns == kColumns) {
      Packet su_[kColumns][n_owed + 1], x_[kColumns], sum[kColumns];
      for (Index c = 0; c < kColumns; ++c) {
        for (int r = 0; r < n_owed; ++r) su_[c][r] = splat(su[c][r]);
        x_[c] = splat(x[j + c]);
        sum[c] = splat(0.0);
      }
      Index i = j + kColumns;
      for (; i + kLanes <= n; i += kLanes) {
        const Packet xi = load(x + i);
        Packet yi = load(out + i);
        Packet ui[n_owed + 1];
        for (int r = 0; r < n_owed; ++r) ui[r] = load(U + r * u_stride + i);
        for (Index c = 0; c < kColumns; ++c) {
          Packet entry = load(column[c] + i);
          for (int r = 0; r < n_owed; ++r) entry = simd::pmadd(ui[r], su_[c][r], entry);
          if (n_owed > 0) store(column[c] + i, entry);
          yi = simd::pmadd(entry, x_[c], yi);
          sum[c] = simd::pmadd(entry, xi, sum[c]);
        }
        store(out + i, yi);
      }
      for (; i < n; ++i)
        for (Index c = 0; c < kColumns; ++c) {
          update(c, i);
          out[i] = fused(column[c][i], x[j + c], out[i]);
          dot[c] = fused(column[c][i], x[i], dot[c]);
        }
      for (Index c = 0; c < kColumns; ++c) dot[c] += simd::predux(sum[c]);
    }
    for (Index c = 0; c < columns; ++c) out[j + c] += dot[c];
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
      Index i = last;
      for (; i + kLanes <= n; i += kLanes) {
        Packet x[n_rhs];
        for (int r = 0; r < n_rhs; ++r) x[r] = load(X + r * x_stride + i);
        for (Index c = 0; c < kColumns; ++c) {
          const Packet entry = load(column + c * stride + i);
          for (int r = 0; r < n_rhs; ++r) sum[c][r] = simd::pmadd(entry, x[r], sum[c][r]);
        }
      }
      for (Index c = 0; c < kColumns; ++c)
        for (int r = 0; r < n_rhs; ++r) {
          dot[c][r] = simd::predux(sum[c][r]);
          for (Index k = i; k < n; ++k) dot[c][r] = fused(column[c * stride + k], X[r * x_stride + k], dot[c][r]);
        }
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
