// Whether the inputs of a stream have moved away from its dictionary: rows lie farther from it than they used to.
//
// A row's novelty is its squared distance to the span, relative to k(x, x). Compared are the mean of all rows and that
// of the last hundred or so. A memory that forgets nothing decides well on the dictionary while the inputs stay where
// they are, whatever becomes of the targets; kernels that are worth much to it in a region where no row comes any more
// would never leave.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/arrays.hpp"

namespace kernsift {

class Novelty {
 public:
  void add(double novelty) {
    constexpr double kMemory = 0.99;
    if (!std::isfinite(novelty)) return;  // of a row of k(x, x) = 0
    recent_ += (1.0 - kMemory) * (novelty - recent_);
    ++rows_;
    ever_ += (novelty - ever_) / rows_;
    // Back where half the excess is gone, so that it does not change back at once.
    const double excess = std::max(ever_, kLeastExcess);
    moved_ = recent_ > ever_ + (moved_ ? 0.5 : 1.0) * excess;
  }
  bool moved() const { return moved_; }

  void save(Arrays& arrays) const {
    arrays.put("novelty_recent", recent_);
    arrays.put("novelty_ever", ever_);
    arrays.put("novelty_rows", rows_);
    arrays.put("novelty_moved", moved_);
  }
  void load(const Arrays& arrays) {
    recent_ = arrays.number("novelty_recent", 0.0);
    ever_ = arrays.number("novelty_ever", 0.0);
    rows_ = arrays.number("novelty_rows", 0.0);
    moved_ = arrays.number("novelty_moved", 0.0) != 0;
  }

 private:
  static constexpr double kLeastExcess = 0.1;
  double recent_ = 0, ever_ = 0, rows_ = 0;
  bool moved_ = false;
};

}  // namespace kernsift
