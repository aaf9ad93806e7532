#include "core/kernel/kernels.hpp"

namespace kernsift {

void PreparedRows::resize(Index rows, Index features) {
  size_ = rows;
  stride_ = features;
  if (static_cast<Index>(coordinates_.size()) < rows * features) coordinates_.resize(rows * features);
  if (norms_.size() < rows) {
    norms_.resize(rows);
    far_.resize(rows);
  }
}

void Panels::reserve(Index n) {
  const Index padded = round_up(n, kPanel);
  if (static_cast<Index>(norms_.size()) >= padded) return;
  coordinates_.resize(padded * n_features_, 0.0);
  norms_.resize(padded, 0.0);
}

void Panels::append(const double* coordinates, double norm) {
  reserve(grown_capacity(static_cast<Index>(norms_.size()), size_ + 1));
  ++size_;
  set(size_ - 1, coordinates, norm);
}

void Panels::set(Index i, const double* coordinates, double norm) {
  for (Index j = 0; j < n_features_; ++j) at(i, j) = coordinates[j];
  norms_[i] = norm;
}

void Panels::remove(Index i) {
  for (Index k = i; k + 1 < size_; ++k) {
    for (Index j = 0; j < n_features_; ++j) at(k, j) = at(k + 1, j);
    norms_[k] = norms_[k + 1];
  }
  --size_;
  for (Index j = 0; j < n_features_; ++j) at(size_, j) = 0.0;
  norms_[size_] = 0.0;
}

}  // namespace kernsift
