#include "core/kernel/dictionary.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"

namespace kernsift {

namespace {
constexpr Index kChunk = 256;  // rows prepared together
constexpr Index kTile = 64;    // rows together where a kernel block is kept
}  // namespace

void Dictionary::reserve(Index n) {
  if (vectors_.rows() >= n) return;
  vectors_.conservativeResize(n, kernel_.n_features());
  panels_.reserve(n);
  ids_.reserve(n);
}

void Dictionary::append(const double* x, const PreparedRows& rows, Index row, std::int64_t id) {
  reserve(grown_capacity(vectors_.rows(), size() + 1));
  vectors_.row(size()) = Eigen::Map<const Eigen::RowVectorXd>(x, kernel_.n_features());
  panels_.append(rows.coordinates(row), rows.norm(row));
  ids_.push_back(id);
  largest_self_ = std::max(largest_self_, self(size() - 1));
}

double Dictionary::weighted_squares(const ConstVectorRef& a) const {
  if (kernel_.stationary()) return a.squaredNorm();
  double sum = 0;
  for (Index i = 0; i < size(); ++i) sum += a[i] * a[i] * self(i);
  return sum;
}

void Dictionary::remove(Index i) {
  for (Index k = i; k + 1 < size(); ++k) vectors_.row(k) = vectors_.row(k + 1);
  panels_.remove(i);
  ids_.erase(ids_.begin() + i);
}

// Calls work(first, count) for consecutive parts of n rows: whole tiles, about a millisecond of work each.
template <class Work>
void Dictionary::by_parts(Index n, Index threads, const Work& work) const {
  constexpr double kWork = 2e7;  // flops
  const double a_row = 2.0 * static_cast<double>((size() + 1) * (kernel_.n_features() + 8));
  const Index part = round_up(static_cast<Index>(kWork / a_row) + 1, kTile);
  parallel_for((n + part - 1) / part, static_cast<int>(threads),
               [&](Index task) { work(task * part, std::min(part, n - task * part)); });
}

void Dictionary::expand(const ConstMatrixRef& coef, const ConstVectorRef& intercept, const Rows& X, RowsOut out,
                        Index threads) const {
  by_parts(X.rows(), threads, [&](Index begin, Index n) {
    PreparedRows rows;
    for (Index first = begin; first < begin + n; first += kChunk) {
      const Index count = std::min(kChunk, begin + n - first);
      kernel_.prepare(X.middleRows(first, count), rows);
      kernel_.expand(panels_, coef, intercept, rows, 0, count, out.middleRows(first, count));
    }
  });
}

void Dictionary::tiles(const Rows& X, Index threads, const Tile& work) const {
  by_parts(X.rows(), threads, [&](Index begin, Index n) {
    Matrix K(padded(), std::min(kTile, n));
    Vector k_self(K.cols());
    PreparedRows rows;
    for (Index first = begin; first < begin + n; first += kTile) {
      const Index count = std::min(kTile, begin + n - first);
      kernel_.prepare(X.middleRows(first, count), rows);
      block(rows, 0, count, K.leftCols(count));
      for (Index r = 0; r < count; ++r) k_self[r] = kernel_.self(rows, r);
      work(K.leftCols(count), k_self.head(count), first);
    }
  });
}

void Dictionary::save(Arrays& arrays) const {
  arrays.put("basis", Matrix(vectors()));
  Matrix ids(size(), 1);
  for (Index i = 0; i < size(); ++i) ids(i, 0) = static_cast<double>(ids_[static_cast<std::size_t>(i)]);
  arrays.put("ids", std::move(ids));
}

void Dictionary::load(const Arrays& arrays) {
  *this = Dictionary(kernel_);
  const Index m = arrays.get("ids").rows();
  const Matrix& ids = arrays.get("ids", m, 1);
  const RowMatrix basis = arrays.get("basis", m, kernel_.n_features());
  PreparedRows rows;
  kernel_.prepare(basis, rows);
  for (Index i = 0; i < m; ++i) append(basis.row(i).data(), rows, i, Arrays::whole(ids(i, 0), "ids"));
}

}  // namespace kernsift
