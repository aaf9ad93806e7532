#include "core/kernel/gram.hpp"

#include <algorithm>

#include "core/base/interrupt.hpp"
#include "core/base/parallel.hpp"

namespace kernsift {

namespace {
constexpr Index kGramTile = 256;  // a multiple of kPanel: only the last tile is padded
}

Panels panels_of(const PreparedRows& rows, Index first, Index count, Index n_features) {
  Panels elements(n_features);
  elements.reserve(count);
  for (Index i = first; i < first + count; ++i) elements.append(rows.coordinates(i), rows.norm(i));
  return elements;
}

RowMatrix gather(const Rows& X, const std::vector<Index>& which) {
  RowMatrix out(static_cast<Index>(which.size()), X.cols());
  for (Index i = 0; i < out.rows(); ++i) out.row(i) = X.row(which[i]);
  return out;
}

void gram_lower(const Kernel& kernel, const PreparedRows& rows, Matrix& storage) {
  const Index n = rows.size();
  storage.resize(round_up(n, kPanel), n);
  for (Index first = 0; first < n; first += kGramTile) {  // these elements against the rows up to the diagonal block
    check_interrupt();
    const Index count = std::min(kGramTile, n - first);
    const Panels elements = panels_of(rows, first, count, kernel.n_features());
    kernel.block(elements, rows, 0, first + count, storage.block(first, 0, elements.padded(), first + count));
  }
}

void kernel_columns(const Kernel& kernel, const Panels& elements, const PreparedRows& rows, Index first, Index count,
                    Matrix& padded, MatrixRef out) {
  if (padded.rows() < elements.padded() || padded.cols() < count) padded.resize(elements.padded(), count);
  kernel.block(elements, rows, first, count, padded.topLeftCorner(elements.padded(), count));
  out = padded.topLeftCorner(elements.size(), count);
}

void expand_rows(const Kernel& kernel, const Rows& vectors, const Rows& coef, const ConstVectorRef& intercept,
                 const Rows& X, int threads, RowsOut out) {
  PreparedRows prepared;
  kernel.prepare(vectors, prepared);
  const Panels elements = panels_of(prepared, 0, vectors.rows(), kernel.n_features());
  Matrix padded = Matrix::Zero(elements.padded(), coef.cols());
  padded.topRows(coef.rows()) = coef;
  parallel_for((X.rows() + kGramTile - 1) / kGramTile, threads, [&](Index task) {
    const Index first = task * kGramTile, count = std::min(kGramTile, X.rows() - first);
    PreparedRows tile;
    kernel.prepare(X.middleRows(first, count), tile);
    kernel.expand(elements, padded, intercept, tile, 0, count, out.middleRows(first, count));
  });
}

}  // namespace kernsift
