#include "core/kernel/kernel_columns.hpp"

#include <algorithm>

#include "core/base/multiply.hpp"
#include "core/base/parallel.hpp"
#include "core/linalg/orthogonal_basis.hpp"

namespace kernsift {

namespace {
// The triangle of kernel blocks is cut into this many tasks, each with its own sums, added in order.
constexpr Index kMostTasks = 8;
constexpr Index kParallelValues = 1 << 16;
}  // namespace

KernelColumns::KernelColumns(std::vector<Kernel> kernels, const Rows& X, const ConstVectorRef& root_weights,
                             int threads, std::size_t cache_bytes)
    : kernels_(std::move(kernels)),
      X_(X.data(), X.rows(), X.cols(), Eigen::OuterStride<>(X.outerStride())),
      padded_(round_up(X.rows(), OrthogonalBasis::kRows)),
      threads_(threads),
      root_weights_(root_weights),
      unweighted_((root_weights.array() == 1.0).all()),
      room_(static_cast<Index>(cache_bytes / (sizeof(double) * kChunk * kChunk))) {
  PreparedRows prepared;
  for (const Kernel& kernel : kernels_) {
    auto& chunks = chunks_.emplace_back();
    for (Index first = 0; first < rows(); first += kChunk) {
      const Index count = std::min(kChunk, rows() - first);
      kernel.prepare(X_.middleRows(first, count), prepared);
      Panels& panels = chunks.emplace_back(kernel.n_features());
      panels.reserve(count);
      for (Index r = 0; r < count; ++r) panels.append(prepared.coordinates(r), prepared.norm(r));
    }
  }
}

void KernelColumns::columns(const std::vector<Index>& ids, MatrixRef out) const {
  const Index n = static_cast<Index>(ids.size());
  for (Index g = 0; g < n_widths(); ++g) {
    std::vector<Index> mine;  // places in `ids` of this width
    for (Index i = 0; i < n; ++i)
      if (ids[i] / rows() == g) mine.push_back(i);
    if (mine.empty()) continue;
    const Index count = static_cast<Index>(mine.size());
    RowMatrix centres(count, X_.cols());
    for (Index i = 0; i < count; ++i) centres.row(i) = X_.row(ids[mine[i]] % rows());
    PreparedRows prepared;
    kernels_[g].prepare(centres, prepared);
    const auto& chunks = chunks_[g];
    const Index tasks = static_cast<Index>(chunks.size());
    parallel_for(tasks, rows() * count < kParallelValues ? 1 : threads_, [&](Index task) {
      const Panels& panels = chunks[task];
      const Index first = task * kChunk;
      const auto v = root_weights_.segment(first, panels.size());
      if (n_widths() == 1) {  // straight to its place; a chunk's padding is overwritten below
        kernels_[g].block(panels, prepared, 0, count, out.middleRows(first, panels.padded()));
        if (!unweighted_) out.middleRows(first, panels.size()).array().colwise() *= v.array();
        return;
      }
      Matrix values(panels.padded(), count);
      kernels_[g].block(panels, prepared, 0, count, values);
      for (Index i = 0; i < count; ++i)
        out.col(mine[i]).segment(first, panels.size()) = values.col(i).head(panels.size()).cwiseProduct(v);
    });
  }
  out.bottomRows(padded_ - rows()).setZero();
}

void KernelColumns::products(Index g, const ConstMatrixRef& Y, MatrixRef products, Vector* norms) {
  const Kernel& kernel = kernels_[g];
  const auto& chunks = chunks_[g];
  const Index n_chunks = static_cast<Index>(chunks.size()), n = rows(), c = Y.cols();
  // Pairs (I, J <= I) of chunks, dealt to the tasks in turn.
  const Index pairs = n_chunks * (n_chunks + 1) / 2, tasks = std::min(pairs, kMostTasks);
  const Index width = c + (norms != nullptr ? 1 : 0);
  const Matrix Yw = Y.topRows(n).array().colwise() * root_weights_.array();
  const Vector v = root_weights_.cwiseAbs2();
  Matrix parts = Matrix::Zero(n, width * tasks);
  if (kept_.empty()) kept_.resize(static_cast<std::size_t>(std::min(room_, pairs * n_widths())));
  parallel_for(tasks, n * n < kParallelValues ? 1 : threads_, [&](Index task) {
    auto sums = parts.middleCols(task * width, width);
    Matrix values(kChunk, kTile);
    PreparedRows prepared;
    Index pair = 0;
    for (Index I = 0; I < n_chunks; ++I)
      for (Index J = 0; J <= I; ++J, ++pair) {
        if (pair % tasks != task) continue;
        const Index first_i = I * kChunk, rows_i = chunks[I].size(), start = J * kChunk,
                    end = std::min(n, start + kChunk), slot = g * pairs + pair;
        Matrix* const kept = slot < static_cast<Index>(kept_.size()) ? &kept_[slot] : nullptr;
        const bool known = kept != nullptr && kept->size() > 0;
        if (kept != nullptr && !known) kept->resize(chunks[I].padded(), end - start);
        for (Index first = start; first < end; first += kTile) {
          const Index count = std::min(kTile, end - first);
          MatrixRef tile = kept != nullptr ? MatrixRef(kept->middleCols(first - start, count))
                                           : MatrixRef(values.topLeftCorner(chunks[I].padded(), count));
          if (!known) {
            kernel.prepare(X_.middleRows(first, count), prepared);
            kernel.block(chunks[I], prepared, 0, count, tile);
          }
          const auto k = tile.topRows(rows_i);
          // unweighted sums over the rows here; a candidate is a column without its own row's weight
          if (c == 1) {
            sums.col(0).segment(first, count).noalias() += k.transpose() * Yw.col(0).segment(first_i, rows_i);
            if (J < I) sums.col(0).segment(first_i, rows_i).noalias() += k * Yw.col(0).segment(first, count);
          } else {
            add_product(1.0, k.transpose(), Yw.middleRows(first_i, rows_i), sums.block(first, 0, count, c));
            if (J < I) add_product(1.0, k, Yw.middleRows(first, count), sums.block(first_i, 0, rows_i, c));
          }
          if (norms == nullptr) continue;
          const Matrix k2 = k.cwiseAbs2();
          sums.col(c).segment(first, count).noalias() += k2.transpose() * v.segment(first_i, rows_i);
          if (J < I) sums.col(c).segment(first_i, rows_i).noalias() += k2 * v.segment(first, count);
        }
      }
  });
  for (Index task = 0; task < tasks; ++task) {
    products += parts.middleCols(task * width, c);
    if (norms != nullptr) *norms += parts.col(task * width + c);
  }
}

void KernelColumns::products_of(const std::vector<Index>& rows, Index g, const ConstMatrixRef& Y, MatrixRef products,
                                Vector* norms) {
  const Kernel& kernel = kernels_[g];
  const Index n = static_cast<Index>(rows.size()), tiles = round_up(n, kTile) / kTile,
              tasks = std::min(tiles, kMostTasks);
  const Matrix Yw = Y.topRows(X_.rows()).array().colwise() * root_weights_.array();
  const Vector v = root_weights_.cwiseAbs2();
  parallel_for(tasks, n * X_.rows() < kParallelValues ? 1 : threads_, [&](Index task) {
    Matrix values(kChunk, kTile), sums(kTile, Y.cols() + 1);
    RowMatrix centres(kTile, X_.cols());
    PreparedRows prepared;
    for (Index tile = task; tile < tiles; tile += tasks) {
      const Index first = tile * kTile, count = std::min(kTile, n - first);
      for (Index i = 0; i < count; ++i) centres.row(i) = X_.row(rows[first + i]);
      kernel.prepare(centres.topRows(count), prepared);
      sums.setZero();
      for (std::size_t chunk = 0; chunk < chunks_[g].size(); ++chunk) {
        const Panels& panels = chunks_[g][chunk];
        const Index start = static_cast<Index>(chunk) * kChunk;
        kernel.block(panels, prepared, 0, count, values);
        const auto k = values.topLeftCorner(panels.size(), count);
        add_product(1.0, k.transpose(), Yw.middleRows(start, panels.size()), sums.topLeftCorner(count, Y.cols()));
        if (norms != nullptr)
          sums.col(Y.cols()).head(count).noalias() += k.cwiseAbs2().transpose() * v.segment(start, panels.size());
      }
      for (Index i = 0; i < count; ++i) {
        products.row(rows[first + i]) += sums.row(i).head(Y.cols());
        if (norms != nullptr) (*norms)[rows[first + i]] += sums(i, Y.cols());
      }
    }
  });
}

}  // namespace kernsift
