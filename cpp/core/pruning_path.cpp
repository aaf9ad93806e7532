#include "core/pruning_path.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace kernsift {

namespace {
constexpr double kTie = 1e-9;
}

Index pruning_step(const PruningOptions& options, Index n) {
  Index count = static_cast<Index>(options.step < 1 ? options.step * static_cast<double>(n) : options.step);
  count = std::clamp<Index>(count, 1, n - 1);
  return n > options.must_hit && options.must_hit > 0 ? std::min(count, n - options.must_hit) : count;
}

std::vector<Index> least_useful(const ConstVectorRef& scores, const std::vector<Index>& ages, Index count) {
  const double tied = scores.minCoeff() * (1.0 + kTie);
  // what is no number would leave no order to sort by; as in `weakest`, it goes first
  const auto key = [&](Index i) { return scores[i] > tied ? scores[i] : 0.0; };
  if (count == 1) {
    Index best = -1;
    for (Index i = 0; i < scores.size(); ++i)
      if (!(scores[i] > tied) && (best < 0 || ages[i] < ages[best])) best = i;
    return {std::max<Index>(best, 0)};
  }
  std::vector<Index> found(scores.size());
  std::iota(found.begin(), found.end(), Index{0});
  const auto before = [&](Index i, Index j) {
    return key(i) != key(j) ? key(i) < key(j) : ages[i] < ages[j];
  };
  std::nth_element(found.begin(), found.begin() + (count - 1), found.end(), before);
  found.resize(count);
  std::sort(found.begin(), found.end(), std::greater<Index>());
  return found;
}

}  // namespace kernsift
