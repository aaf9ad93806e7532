#include "core/select/pruning_path.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "core/base/limits.hpp"

namespace kernsift {

Index pruning_step(const PruningOptions& options, Index n) {
  Index count = static_cast<Index>(options.step < 1 ? options.step * static_cast<double>(n) : options.step);
  count = std::clamp<Index>(count, 1, n - 1);
  return n > options.must_hit && options.must_hit > 0 ? std::min(count, n - options.must_hit) : count;
}

std::vector<Index> least_useful(const ConstVectorRef& scores, const std::vector<Index>& ages, Index count) {
  double lowest = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < scores.size(); ++i)
    if (scores[i] < lowest) lowest = scores[i];
  const double tied = lowest * (1.0 + kTie);
  // NaN has no place in an order: it is removed first, as in `weakest`
  const auto key = [&](Index i) {
    return scores[i] > tied ? scores[i] : scores[i] <= tied ? 0.0 : -std::numeric_limits<double>::infinity();
  };
  const auto before = [&](Index i, Index j) { return key(i) != key(j) ? key(i) < key(j) : ages[i] < ages[j]; };
  std::vector<Index> found(scores.size());
  std::iota(found.begin(), found.end(), Index{0});
  if (count == 1) return {*std::min_element(found.begin(), found.end(), before)};
  std::nth_element(found.begin(), found.begin() + (count - 1), found.end(), before);
  found.resize(count);
  std::sort(found.begin(), found.end(), std::greater<Index>());
  return found;
}

}  // namespace kernsift
