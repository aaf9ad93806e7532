#include "core/select/pivoted_selection.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/interrupt.hpp"
#include "core/base/multiply.hpp"
#include "core/kernel/kernel_span.hpp"
#include "core/linalg/blocked_triangles.hpp"
#include "core/select/sampling.hpp"

namespace kernsift {

namespace {

constexpr Index kBlock = 128;

PivotedBasis finished(std::vector<Index> chosen, const KernelSpan& span) {
  return {std::move(chosen), Matrix(span.block())};
}

double uniform(SplitMix64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace

std::vector<Index> independent_rows(SelectableRows& patterns, double tol, int threads, RowsOut L) {
  const Index l = patterns.size(), max_basis = std::min(L.rows(), l);
  const Kernel& kernel = patterns.kernel();
  Panels elements(kernel.n_features());
  std::vector<Index> chosen;
  PreparedRows rows;
  Matrix K, W, E;
  Index top = 0;
  for (Index first = 0; first < l && top < max_basis; first += kBlock) {
    check_interrupt();
    const Index count = std::min(kBlock, l - first), m = top;
    patterns.prepare(first, count, rows);
    K.resize(elements.padded(), count);
    kernel.block(elements, rows, 0, count, K);
    W.resize(m + count, count);
    W.topRows(m) = K.topRows(m);
    solve_columns(L.topLeftCorner(m, m), threads, W.topRows(m));
    Vector delta = patterns.self().segment(first, count) - W.topRows(m).colwise().squaredNorm().transpose();
    bool any = false;
    for (Index r = 0; r < count; ++r) any = any || delta[r] > tol * patterns.self()[first + r];
    if (!any) continue;
    // The residual kernel of the block; each taken row leaves it.
    const Panels block = elements_of(kernel, rows);
    E.resize(block.padded(), count);
    kernel.block(block, rows, 0, count, E);
    add_product(-1.0, W.topRows(m).transpose(), W.topRows(m), E.topRows(count));
    for (Index r = 0; r < count && top < max_basis; ++r) {
      if (!(delta[r] > tol * patterns.self()[first + r])) continue;
      const double s = std::sqrt(delta[r]);  // [Engel ald]
      L.row(top).head(top) = W.col(r).head(top).transpose();
      L(top, top) = s;
      elements.append(rows.coordinates(r), rows.norm(r));
      chosen.push_back(first + r);
      W.row(top).setZero();
      for (Index c = r + 1; c < count; ++c) {
        const double e = E(c, r) - W.col(r).segment(m, top - m).dot(W.col(c).segment(m, top - m));
        W(top, c) = e / s;
        delta[c] -= W(top, c) * W(top, c);
      }
      ++top;
    }
  }
  return chosen;
}

PivotedBasis greedy_pivots(SelectableRows& patterns, double tol, Index max_basis) {
  const Index limit = std::min(max_basis, patterns.size());
  SelectableCoordinates W(patterns, limit);
  KernelSpan span;
  span.reserve(limit);
  std::vector<Index> chosen;
  PreparedRows row;
  std::vector<char> taken(patterns.size(), 0);
  while (span.size() < limit) {
    check_interrupt();
    Index r = -1;
    for (Index i = 0; i < patterns.size(); ++i)
      if (!taken[i] && (r < 0 || W.residual()[i] > W.residual()[r])) r = i;
    if (r < 0 || !(W.residual()[r] > tol * patterns.self()[r])) break;
    taken[r] = 1;
    span.append(W.of(r), std::sqrt(W.residual()[r]));
    patterns.prepare(&r, 1, row);
    W.append(elements_of(patterns.kernel(), row), span.block());
    chosen.push_back(r);
  }
  return finished(std::move(chosen), span);
}

PivotedBasis random_pivots(SelectableRows& patterns, const ConstVectorRef& weight, double tol, Index max_basis,
                           Index block, std::uint64_t seed) {
  const Index l = patterns.size(), limit = std::min(max_basis, l);
  const Vector& self = patterns.self();
  SplitMix64 random(seed);
  SelectableCoordinates W(patterns, limit);
  KernelSpan span;
  span.reserve(limit);
  std::vector<Index> chosen, draws(block), accepted;
  std::vector<char> taken(l, 0);
  PreparedRows rows;
  Vector sums(l), first_delta(block);
  Matrix E;
  while (span.size() < limit) {
    check_interrupt();
    double sum = 0;
    for (Index i = 0; i < l; ++i) {
      const double e = W.residual()[i];
      if (!taken[i] && e > 0 && e > tol * self[i]) sum += weight[i] * e;
      sums[i] = sum;
    }
    if (!(sum > 0)) break;
    for (Index& d : draws) {
      const double u = uniform(random) * sum;
      d = std::min<Index>(std::upper_bound(sums.data(), sums.data() + l, u) - sums.data(), l - 1);
    }
    const Index m = span.size();
    patterns.prepare(draws.data(), block, rows);
    const Panels elements = elements_of(patterns.kernel(), rows);
    E.resize(elements.padded(), block);
    patterns.kernel().block(elements, rows, 0, block, E);
    Matrix V(m + block, block);
    for (Index t = 0; t < block; ++t) V.col(t).head(m) = W.of(draws[t]);
    add_product(-1.0, V.topRows(m).transpose(), V.topRows(m), E.topRows(block));
    for (Index t = 0; t < block; ++t) first_delta[t] = W.residual()[draws[t]];
    Vector delta = first_delta;
    Panels fresh(patterns.kernel().n_features());
    Index top = m;
    for (Index t = 0; t < block && top < limit; ++t) {
      const double left = delta[t];
      const bool wins = uniform(random) * first_delta[t] < left;
      if (!wins || taken[draws[t]] || !(left > tol * self[draws[t]])) continue;
      const double s = std::sqrt(left);
      span.append(V.col(t).head(top), s);
      fresh.append(rows.coordinates(t), rows.norm(t));
      taken[draws[t]] = 1;
      chosen.push_back(draws[t]);
      for (Index c = t + 1; c < block; ++c) {
        const double e = E(c, t) - V.col(t).segment(m, top - m).dot(V.col(c).segment(m, top - m));
        V(top, c) = e / s;
        delta[c] -= V(top, c) * V(top, c);
      }
      ++top;
    }
    if (fresh.size() > 0) W.append(fresh, span.block());
  }
  return finished(std::move(chosen), span);
}

double independent_rows_memory(Index max_basis, Index d) { return 1.0 * max_basis * (max_basis + 512.0 + 3.0 * d); }

double pivoted_memory(Index rows, Index max_basis, Index d, Index block) {
  return 1.0 * rows * (max_basis + 11.0 + d) + max_basis * (2.0 * max_basis + 2.0 * block + 3.0 * d);
}

}  // namespace kernsift
