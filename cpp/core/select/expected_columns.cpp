#include "core/select/expected_columns.hpp"

#include <algorithm>

namespace kernsift {

namespace {

// Candidates made beforehand for a step, and kept once made: on 50,000 rows they hold the next column of 92 steps in
// 100, with 1.2 new ones a step.
constexpr Index kNew = 4, kKept = 2 * kNew;

// The rows with the largest entries, largest first, without `except`.
std::vector<Index> largest(const Vector& size2, Index count, Index except) {
  std::vector<Index> rows;
  double least = 0;
  for (Index i = 0; i < size2.size(); ++i) {
    if (!(size2[i] > least) || i == except) continue;
    const auto at = std::find_if(rows.begin(), rows.end(), [&](Index row) { return size2[row] < size2[i]; });
    rows.insert(at, i);
    if (static_cast<Index>(rows.size()) > count) rows.pop_back();
    if (static_cast<Index>(rows.size()) == count) least = size2[rows.back()];
  }
  return rows;
}

}  // namespace

Index ExpectedColumns::place(Index id) const { return std::find(ids_.begin(), ids_.end(), id) - ids_.begin(); }

// The last one takes its place.
void ExpectedColumns::forget(Index i) {
  const Index last = --ahead_.known;
  OrthogonalBasis::Projection& p = ahead_.p;
  ids_[static_cast<std::size_t>(i)] = ids_[static_cast<std::size_t>(last)];
  ids_.pop_back();
  if (i != last) {
    ahead_.K.col(i) = ahead_.K.col(last);
    p.s.col(i) = p.s.col(last);
    p.f.row(i) = p.f.row(last);
    p.norm2[i] = p.norm2[last];
    p.distance2[i] = p.distance2[last];
  }
  p.s.conservativeResize(Eigen::NoChange, last);
}

void ExpectedColumns::choose(const KernelColumns& columns, const Vector& size2,
                             const std::vector<unsigned char>& usable, Index picked) {
  const Index n = columns.rows(), widths = columns.n_widths(), count = kNew / widths;
  if (count == 0) return;
  ids_.resize(static_cast<std::size_t>(ahead_.known));  // a column that was refused has made no use of the others
  const std::vector<Index> rows = largest(size2, kKept / widths, picked % n);
  for (Index i = ahead_.known - 1; i >= 0; --i) {
    const Index id = ids_[static_cast<std::size_t>(i)];
    if (!usable[static_cast<std::size_t>(id)] || std::find(rows.begin(), rows.end(), id % n) == rows.end()) forget(i);
  }
  std::vector<Index> made;
  for (std::size_t r = 0; r < std::min(rows.size(), static_cast<std::size_t>(count)); ++r)
    for (Index g = 0; g < widths; ++g) {
      const Index id = g * n + rows[r];
      if (usable[static_cast<std::size_t>(id)] && place(id) == static_cast<Index>(ids_.size())) made.push_back(id);
    }
  ids_.insert(ids_.end(), made.begin(), made.end());
  if (ahead_.K.cols() == 0) ahead_.K.resize(columns.padded_rows(), kKept);
  columns.columns(made, ahead_.K.middleCols(ahead_.known, static_cast<Index>(made.size())));
  ahead_.size = static_cast<Index>(ids_.size());
}

bool ExpectedColumns::find(const std::vector<Index>& ids, Matrix& K, OrthogonalBasis::Projection& p) const {
  std::vector<Index> places;
  for (const Index id : ids) {
    places.push_back(place(id));
    if (places.back() >= ahead_.known) return false;
  }
  const Index r = static_cast<Index>(ids.size());
  const OrthogonalBasis::Projection& all = ahead_.p;
  K.resize(ahead_.K.rows(), r);
  p.s.resize(all.s.rows(), r);
  p.norm2.resize(r);
  p.distance2.resize(r);
  p.f.resize(r, all.f.cols());
  for (Index i = 0; i < r; ++i) {
    const Index from = places[static_cast<std::size_t>(i)];
    K.col(i) = ahead_.K.col(from);
    p.s.col(i) = all.s.col(from);
    p.norm2[i] = all.norm2[from];
    p.distance2[i] = all.distance2[from];
    p.f.row(i) = all.f.row(from);
  }
  return true;
}

}  // namespace kernsift
