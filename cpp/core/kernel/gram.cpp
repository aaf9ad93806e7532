#include "core/kernel/gram.hpp"

#include <algorithm>

#include "core/base/interrupt.hpp"

namespace kernsift {

namespace {
constexpr Index kTile = 256;  // a multiple of kPanel: only the last tile is padded
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
  for (Index first = 0; first < n; first += kTile) {  // these elements against the rows up to the diagonal block
    check_interrupt();
    const Index count = std::min(kTile, n - first);
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

}  // namespace kernsift
