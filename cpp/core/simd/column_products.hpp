// The two loops over Q: inner products with its columns and sums of its columns, on one block of kRows rows.
// Several vectors at a time, so that Q is read once for all of them.
#pragma once

#include <algorithm>

#include "core/simd/packets.hpp"

namespace kernsift {

namespace column_products {

// Prefetches the same rows of the next C columns: columns are too short for the processor to see the stream by itself.
template <int C>
inline void fetch_ahead(const double* q, Index rows, Index r) {
  if (r % 8 == 0)
    for (int c = 0; c < C; ++c) __builtin_prefetch(q + (C + c) * rows + r);
}

// dots[v * stride + j] += q_j'x_v for C neighbouring columns and V vectors of `rows` rows (a multiple of 8);
// `far`: they come from memory.
template <int C, int V, bool far>
inline void dot_tile(const double* q, Index rows, const double* const* x, double* dots, Index stride) {
  Packet sum[V][C];
  for (int v = 0; v < V; ++v)
    for (int c = 0; c < C; ++c) sum[v][c] = simd::pset1<Packet>(0.0);
  for (Index r = 0; r < rows; r += kLanes) {
    Packet column[C];
    if constexpr (far) fetch_ahead<C>(q, rows, r);
    for (int c = 0; c < C; ++c) column[c] = simd::pload<Packet>(q + c * rows + r);
    for (int v = 0; v < V; ++v) {
      const Packet xr = simd::ploadu<Packet>(x[v] + r);
      for (int c = 0; c < C; ++c) sum[v][c] = simd::pmadd(column[c], xr, sum[v][c]);
    }
  }
  for (int v = 0; v < V; ++v)
    for (int c = 0; c < C; ++c) dots[v * stride + c] += simd::predux(sum[v][c]);
}

template <int V, bool far>
inline void dots(const double* q, Index columns, Index rows, const double* const* x, double* out, Index stride) {
  Index j = 0;
  for (; j + 4 <= columns; j += 4) dot_tile<4, V, far>(q + j * rows, rows, x, out + j, stride);
  for (; j < columns; ++j) dot_tile<1, V, far>(q + j * rows, rows, x, out + j, stride);
}

// The same for any number of vectors: twelve sums at a time and no packing, so that arithmetic and not loading is what
// takes the time.
template <bool far>
inline void dots(const double* q, Index columns, Index rows, const double* const* x, Index vectors, double* out,
                 Index stride) {
  Index v = 0;
  for (; v + 3 <= vectors; v += 3) dots<3, false>(q, columns, rows, x + v, out + v * stride, stride);
  if (vectors - v == 2) dots<2, far>(q, columns, rows, x + v, out + v * stride, stride);
  if (vectors - v == 1) dots<1, far>(q, columns, rows, x + v, out + v * stride, stride);
}

// y_v += sum_j q_j coef[j * stride + v] for C neighbouring columns and V vectors, y_v being `rows` apart.
template <int C, int V>
inline void sum_tile(const double* q, Index rows, const double* coef, Index stride, double* y) {
  Packet factor[C][V];
  for (int c = 0; c < C; ++c)
    for (int v = 0; v < V; ++v) factor[c][v] = simd::pset1<Packet>(coef[c * stride + v]);
  for (Index r = 0; r < rows; r += kLanes) {
    Packet column[C];
    fetch_ahead<C>(q, rows, r);
    for (int c = 0; c < C; ++c) column[c] = simd::pload<Packet>(q + c * rows + r);
    for (int v = 0; v < V; ++v) {
      Packet sum = simd::pload<Packet>(y + v * rows + r);
      for (int c = 0; c < C; ++c) sum = simd::pmadd(column[c], factor[c][v], sum);
      simd::pstore(y + v * rows + r, sum);
    }
  }
}

template <int C>
inline void sum_group(const double* q, Index rows, const double* coef, Index vectors, double* y) {
  Index v = 0;
  for (; v + 4 <= vectors; v += 4) sum_tile<C, 4>(q, rows, coef + v, vectors, y + v * rows);
  switch (vectors - v) {
    case 3:
      sum_tile<C, 3>(q, rows, coef + v, vectors, y + v * rows);
      break;
    case 2:
      sum_tile<C, 2>(q, rows, coef + v, vectors, y + v * rows);
      break;
    case 1:
      sum_tile<C, 1>(q, rows, coef + v, vectors, y + v * rows);
      break;
    default:
      break;
  }
}

// y (rows x vectors, columns contiguous, aligned) += Q coef', coef being vectors x columns, column-major.
inline void sums(const double* q, Index columns, Index rows, const double* coef, Index vectors, double* y) {
  Index j = 0;
  for (; j + 4 <= columns; j += 4) sum_group<4>(q + j * rows, rows, coef + j * vectors, vectors, y);
  for (; j < columns; ++j) sum_group<1>(q + j * rows, rows, coef + j * vectors, vectors, y);
}

}  // namespace column_products
}  // namespace kernsift
