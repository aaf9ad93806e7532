#include "core/kernel/dictionary.hpp"

#include <algorithm>

namespace kernsift {

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

}  // namespace kernsift
