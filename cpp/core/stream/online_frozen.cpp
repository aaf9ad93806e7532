// Rows that can change no dictionary (a second pass, or a frozen dictionary): sums, which any thread may make.
#include <algorithm>

#include "core/base/parallel.hpp"
#include "core/stream/online_lssvm.hpp"

namespace kernsift {

namespace {
constexpr Index kTile = 64;
}  // namespace

template <class State>
Index OnlineLSSVM<State>::rows_a_part() const {
  constexpr double kWork = 2e9;  // flops; far above the cost of adding a part's sums, far below a second
  const double m = static_cast<double>(dictionary_.size() + 1), d = static_cast<double>(dictionary_.kernel().n_features());
  Index rows = 2048;  // a power of two: part of the blocks that callers cut a stream into
  while (rows > 256 && 2 * m * (m + d) * static_cast<double>(rows) > kWork) rows /= 2;
  return rows;
}

template <class State>
Index OnlineLSSVM<State>::rows_a_step(bool exact_apriori) const {
  constexpr Index kRows = 1024, kParts = 8;
  if (!learns_in_parts(exact_apriori)) return kRows;
  return kParts * rows_a_part() - rows_seen_ % rows_a_part();
}

template <class State>
bool OnlineLSSVM<State>::learns_in_parts(bool exact_apriori) const {
  if constexpr (State::kLearnsRuns)
    return frozen() && state_.accumulating() && !exact_apriori && !forgets() && !settings_.window;
  else
    return false;
}

template <class State>
auto OnlineLSSVM<State>::sum_rows(const Rows& X, const Rows& Y, const ConstVectorRef& v, RowsOut apriori) const {
  auto sums = state_.no_sums();
  const Index p = state_.dimension(), m = dictionary_.size(), b = p - m;
  Matrix W(b + dictionary_.padded(), kTile);
  PreparedRows prepared;
  for (Index first = 0; first < X.rows(); first += kTile) {
    const Index count = std::min(kTile, X.rows() - first);
    dictionary_.kernel().prepare(X.middleRows(first, count), prepared);
    dictionary_.block(prepared, 0, count, W.block(b, 0, dictionary_.padded(), count));
    state_.coordinates(W.topLeftCorner(p, count));
    state_.add_run(W.topLeftCorner(p, count), Y.middleRows(first, count), v.segment(first, count),
                   apriori.middleRows(first, count), sums);
  }
  return sums;
}

// A part ends where the number of rows seen is a multiple of its length, and the sums are taken in by their order: the same
// bits for any number of threads, and for calls that end where parts do.
template <class State>
void OnlineLSSVM<State>::learn_parts(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog& log) {
  if constexpr (State::kLearnsRuns) {
    const Index rows = X.rows(), part = rows_a_part(), ahead = rows_seen_ % part;
    const Index parts = (ahead + rows + part - 1) / part;
    const Index together = std::max<Index>(1, std::min(log.threads, parts));
    using Sums = typename State::Sums;
    for (Index first = 0; first < parts; first += together) {
      const Index count = std::min(together, parts - first);
      std::vector<Sums> sums(static_cast<std::size_t>(count));
      parallel_for(count, static_cast<int>(log.threads), [&](Index i) {
        const Index begin = std::max<Index>(0, (first + i) * part - ahead);
        const Index n = std::min(rows, (first + i + 1) * part - ahead) - begin;
        sums[static_cast<std::size_t>(i)] = sum_rows(X.middleRows(begin, n), Y.middleRows(begin, n),
                                                     v.segment(begin, n), log.apriori.middleRows(begin, n));
      });
      for (const Sums& s : sums) state_.accumulate(s);
    }
    for (Index i = 0; i < rows; ++i) {
      const bool counts = v[i] > 0;
      record({counts ? Outcome::frozen : Outcome::ignored, -1}, i, log);
      if (counts) count_row(Y.row(i).data(), v[i]);
    }
  }
}

template auto OnlineLSSVM<OrthonormalState>::sum_rows(const Rows&, const Rows&, const ConstVectorRef&, RowsOut) const;
template Index OnlineLSSVM<OrthonormalState>::rows_a_part() const;
template Index OnlineLSSVM<InverseState>::rows_a_part() const;
template Index OnlineLSSVM<OrthonormalState>::rows_a_step(bool) const;
template Index OnlineLSSVM<InverseState>::rows_a_step(bool) const;
template bool OnlineLSSVM<OrthonormalState>::learns_in_parts(bool) const;
template bool OnlineLSSVM<InverseState>::learns_in_parts(bool) const;
template void OnlineLSSVM<OrthonormalState>::learn_parts(const Rows&, const Rows&, const ConstVectorRef&, LearnLog&);
template void OnlineLSSVM<InverseState>::learn_parts(const Rows&, const Rows&, const ConstVectorRef&, LearnLog&);

}  // namespace kernsift
