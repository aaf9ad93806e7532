// The last rows of the stream with their coordinates in the current basis: the rows on which a new kernel is exact.
//
// Invariant: column j of coordinates() is the approximation of row j's phi in the basis of the dictionary's span; it
// follows every change of the basis.
#pragma once

#include "core/base/arrays.hpp"
#include "core/kernel/kernels.hpp"
#include "core/linalg/rotations.hpp"

namespace kernsift {

class RecentRows {
 public:
  RecentRows(Index capacity, Index n_features, Index n_outputs)
      : capacity_(capacity), rows_(n_features), targets_(0, n_outputs) {}

  // Doubles that `rows` rows take at least, once they have come: coordinates in a basis of one kernel, targets and
  // weights. Their features and further coordinates are not counted.
  static double memory_needed(Index rows, Index outputs);

  Index capacity() const { return capacity_; }
  Index size() const { return rows_.size(); }
  const Panels& rows() const { return rows_; }
  auto coordinates() const { return coordinates_.topLeftCorner(dimension_, size()); }  // dimension x size
  auto targets() const { return targets_.topRows(size()); }                            // size x outputs
  auto weights() const { return weights_.head(size()); }

  // The row that makes room for the next one, once there are `capacity` of them.
  Index oldest() const { return next_; }
  void forget_oldest() { weights_[next_] = 0; }
  // The oldest row makes room.
  void push(const PreparedRows& prepared, Index row, const ConstVectorRef& w, const double* y, double weight);
  // The basis gains a direction, along which row j has coordinate s_j.
  void append_coordinate(const ConstVectorRef& s);
  // The basis was rotated (coordinates offset + first, ...) and lost its last direction.
  void drop_last(const Rotations& rotations, Index offset);
  void fade(double factor) { weights_.head(size()) *= factor; }
  void clear();

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays, Index dimension);  // of the basis

 private:
  void reserve(Index dimension, Index rows);
  Index capacity_, next_ = 0, dimension_ = 0;
  Panels rows_;
  Matrix coordinates_;  // capacity of the basis x rows there is room for
  Matrix targets_;
  Vector weights_;
};

}  // namespace kernsift
