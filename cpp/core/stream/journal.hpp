// What became of each row or state: the outcomes, the arrays a caller gives for them, and their counts.
#pragma once

#include <array>

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"

namespace kernsift {

// The order is part of the Python surface (`audit_`).
enum class Outcome : std::uint8_t {
  rejected_novelty = 0,     // inside the span of the dictionary up to novelty_tol: a normal step
  rejected_usefulness = 1,  // novel, but lowers the cost too little: a normal step
  admitted = 2,             // became a kernel
  swapped = 3,              // became a kernel, the least useful kernel left
  bounced = 4,              // admitted at the cap, but itself the least useful: a normal step (MATH 1.7)
  refused = 5,              // passed the rule, but too close to the span for the arithmetic
  ignored = 6,              // weight zero
  frozen = 7,               // learned on a frozen dictionary: a normal step without the admission rule
};
constexpr int kOutcomes = 8;
using Counters = std::array<std::int64_t, kOutcomes>;

struct Event {
  Outcome outcome;
  std::int64_t victim = -1;  // row number of the element evicted, or -1
};

// Where a caller wants the events of rows 0, 1, ...
struct EventLog {
  std::uint8_t* outcome;
  std::int64_t* victim;
  EventLog from(Index row) const { return {outcome + row, victim + row}; }
};

// Invariant: the counters sum to the rows since the first.
class Journal {
 public:
  explicit Journal(std::int64_t first_row = 0) : first_(first_row), rows_(first_row) {}

  std::int64_t rows() const { return rows_; }
  const Counters& counters() const { return counters_; }

  void record(const Event& event, Index i, const EventLog& log) {
    log.outcome[i] = static_cast<std::uint8_t>(event.outcome);
    log.victim[i] = event.victim;
    ++counters_[log.outcome[i]];
    ++rows_;
  }
  // Row i was recorded and could not be learned after all.
  void refuse(Index i, const EventLog& log) {
    --counters_[log.outcome[i]];
    log.outcome[i] = static_cast<std::uint8_t>(Outcome::refused);
    ++counters_[log.outcome[i]];
  }

  void save(Arrays& arrays) const {
    Matrix counts(kOutcomes, 1);
    for (Index i = 0; i < kOutcomes; ++i) counts(i, 0) = static_cast<double>(counters_[static_cast<std::size_t>(i)]);
    arrays.put("counters", std::move(counts));
    if (first_ > 0) arrays.put("first_row", static_cast<double>(first_));
  }
  void load(const Arrays& arrays, std::int64_t rows) {
    const Matrix& counts = arrays.get("counters", kOutcomes, 1);
    for (Index i = 0; i < kOutcomes; ++i)
      counters_[static_cast<std::size_t>(i)] = Arrays::whole(counts(i, 0), "counters");
    rows_ = rows;
  }

 private:
  Counters counters_{};
  std::int64_t first_, rows_;
};

}  // namespace kernsift
