#include "core/stream/recent_rows.hpp"

#include <algorithm>

namespace kernsift {

double RecentRows::memory_needed(Index rows, Index outputs) {
  return static_cast<double>(rows) * static_cast<double>(whole_packets(1) + outputs + 1);
}

void RecentRows::reserve(Index dimension, Index rows) {
  if (weights_.size() < rows) {
    weights_.conservativeResize(std::min(capacity_, grown_capacity(weights_.size(), rows)));
    targets_.conservativeResize(whole_packets(weights_.size()), Eigen::NoChange);
  }
  if (coordinates_.rows() >= dimension && coordinates_.cols() == weights_.size()) return;
  coordinates_.conservativeResize(grown_capacity(coordinates_.rows(), dimension), weights_.size());
}

void RecentRows::push(const PreparedRows& prepared, Index row, const ConstVectorRef& w, const double* y,
                      double weight) {
  dimension_ = w.size();
  reserve(dimension_, std::min(size() + 1, capacity_));
  if (size() < capacity_)
    rows_.append(prepared.coordinates(row), prepared.norm(row));
  else
    rows_.set(next_, prepared.coordinates(row), prepared.norm(row));
  coordinates_.col(next_).head(dimension_) = w;
  for (Index o = 0; o < targets_.cols(); ++o) targets_(next_, o) = y[o];
  weights_[next_] = weight;
  next_ = (next_ + 1) % capacity_;
}

void RecentRows::append_coordinate(const ConstVectorRef& s) {
  reserve(dimension_ + 1, size());
  coordinates_.row(dimension_).head(size()) = s.transpose();
  ++dimension_;
}

void RecentRows::drop_last(const Rotations& rotations, Index offset) {
  rotations.rotate_rows(coordinates_.topLeftCorner(dimension_, size()), offset);
  --dimension_;
}

void RecentRows::clear() {
  rows_.clear();
  next_ = dimension_ = 0;
  coordinates_.resize(0, weights_.size());
}

void RecentRows::save(Arrays& arrays) const {
  const Index n = size(), d = rows_.n_features();
  Matrix prepared(n, d + 1);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < d; ++j) prepared(i, j) = rows_.coordinate(i, j);
    prepared(i, d) = rows_.norm(i);
  }
  arrays.put("recent_rows", std::move(prepared));
  arrays.put("recent_coordinates", n > 0 ? Matrix(coordinates()) : Matrix(0, 0));
  arrays.put("recent_targets", targets());
  arrays.put("recent_weights", weights());
  arrays.put("recent_next", static_cast<double>(next_));
}

void RecentRows::load(const Arrays& arrays, Index dimension) {
  clear();
  const Index d = rows_.n_features(), n = arrays.get("recent_rows").rows();
  if (n > capacity_) throw std::invalid_argument("state array 'recent_rows' holds more rows than exact_rows");
  const RowMatrix prepared = arrays.get("recent_rows", n, d + 1);
  for (Index i = 0; i < n; ++i) rows_.append(prepared.row(i).data(), prepared(i, d));
  if (n > 0) {
    const Matrix& kept = arrays.get("recent_coordinates", dimension, n);
    reserve(dimension_ = dimension, n);
    coordinates_.topLeftCorner(dimension_, n) = kept;
  }
  targets_.topRows(n) = arrays.get("recent_targets", n, targets_.cols());
  weights_.head(n) = arrays.get_not_negative("recent_weights", n);
  const double next = arrays.number("recent_next");
  const bool full = n == capacity_;  // the next row takes the place of the oldest, or the first that is free
  if (!(next >= 0) || next >= static_cast<double>(std::max<Index>(capacity_, 1)) ||
      (!full && next != static_cast<double>(n)))
    throw std::invalid_argument("state array 'recent_next' is not a place among exact_rows");
  next_ = static_cast<Index>(next);
}

}  // namespace kernsift
