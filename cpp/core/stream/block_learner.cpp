#include "core/stream/block_learner.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.hpp"
#include "core/stream/online_model.hpp"

namespace kernsift {

namespace {
constexpr Index kTile = 64;  // rows summed together
}  // namespace

void BlockLearner::learn(OnlineModel& model, const Block& block) {
  screen(model, block);
  StreamState& state = model.state_;
  const double tol1 = model.settings_.admission.novelty_tol;
  for (Index done = 0; done < block.count;) {
    Index next = done;
    while (next < block.count && block.v[block.first + next] > 0 &&
           (model.frozen(next - done) || !(delta_[next] > tol1 * k_self_[next])))
      ++next;
    if (next > done)
      learn_run(model, block, done, next - done);
    else
      learn_alone(model, block, next++);
    state.renew_if_in_doubt();
    state.check();
    done = next;
  }
}

// Coordinates, distance to the span and k(x, x) of the rows of a block.
void BlockLearner::screen(const OnlineModel& model, const Block& block) {
  const Basis& basis = model.state_.basis();
  const Index rows =
      basis.offset() + model.dictionary().padded() + kPanel;  // a panel more: room to grow inside the block
  if (W_.rows() < rows || W_.cols() < block.count) {
    W_.resize(grown_capacity(W_.rows(), rows), std::max(W_.cols(), block.count));
    for (Vector* values : {&delta_, &k_self_, &weights_}) values->resize(W_.cols());
  }
  basis.coordinates(model.prepared_, block.row, block.X.middleRows(block.first, block.count), W_);
  for (Index r = 0; r < block.count; ++r) {
    k_self_[r] = model.dictionary().kernel().self(model.prepared_, block.row + r);
    delta_[r] = basis.distance(W_.col(r).head(basis.dimension()), k_self_[r]);
    invariants::check_distance(delta_[r], k_self_[r]);
  }
}

// A row that is novel, or has no weight.
void BlockLearner::learn_alone(OnlineModel& model, const Block& block, Index column) {
  StreamState& state = model.state_;
  const Index i = block.first + column, row = block.row + column;
  const auto w = W_.col(column).head(state.basis().dimension());
  double* const apriori = block.log.apriori.row(i).data();
  if (!(block.v[i] > 0)) {
    if (block.log.exact_apriori) state.leave_information();
    const double* y = block.Y.row(i).data();
    state.look(w, k_self_[column], y, 1.0);
    state.apriori(y, apriori);
    return model.journal_.record({Outcome::ignored}, i, block.log.events);
  }
  state.leave_information();
  quiet_rows_ = 0;
  const double* y = block.Y.row(i).data();
  const Sample sample{block.X.row(i).data(), model.prepared_, row, k_self_[column], w};
  const RowScalars look = model.look(sample, y, block.v[i], apriori);
  const Event event = model.decide(look, sample, y, block.v[i]);
  model.journal_.record(event, i, block.log.events);
  const bool swapped = event.outcome == Outcome::swapped;
  if (swapped || event.outcome == Outcome::admitted) follow(model, block, column, look.delta, swapped);
}

void BlockLearner::learn_run(OnlineModel& model, const Block& block, Index begin, Index count) {
  StreamState& state = model.state_;
  LearnLog& log = block.log;
  const Index p = state.basis().dimension(), i = block.first + begin;
  const auto W = W_.block(0, begin, p, count);
  auto weight = weights_.head(count);
  const auto sample = [&](Index r) {
    return Sample{block.X.row(i + r).data(), model.prepared_, block.row + begin + r, k_self_[begin + r], W.col(r)};
  };
  const bool frozen_now = model.frozen();
  model.leave_scores_if(frozen_now);
  state.begin_run();
  for (Index r = 0; r < count; ++r) {
    const double* y = block.Y.row(i + r).data();
    weight[r] = block.v[i + r] * state.row_weight(W.col(r));
    if (model.keeps_recent()) state.keep(sample(r), y, weight[r]);
    model.journal_.record({model.frozen() ? Outcome::frozen : Outcome::rejected_novelty}, i + r, log.events);
    state.count(y, weight[r]);
  }
  // After as many quiet rows as the change of form costs, it is worth its price; a frozen model stays quiet.
  bool accumulate =
      !log.exact_apriori && state.sums() && (state.accumulating() || quiet_rows_ >= (frozen_now ? 0 : 2 * p));
  if (accumulate && !state.inform()) {
    accumulate = false;
    quiet_rows_ = -16 * p;  // trying costs as much as learning half a p of rows
  }
  quiet_rows_ += count;
  const auto targets = block.Y.middleRows(i, count);
  auto apriori = log.apriori.middleRows(i, count);
  if (accumulate) return state.accumulate_run(W, targets, weight, delta_.segment(begin, count), apriori);
  state.leave_information();
  state.count_rounding();
  sound_.assign(static_cast<std::size_t>(count), 1);
  state.learn_run(W, targets, weight, delta_.segment(begin, count), k_self_.segment(begin, count), apriori,
                  sound_.data(), log.threads);
  for (Index r = 0; r < count; ++r)
    if (sound_[static_cast<std::size_t>(r)] == 0) model.journal_.refuse(i + r, log.events);
}

// After the row at `column` became a kernel (and perhaps another left): the rows behind it in the block get the
// coordinate along the new direction, r = (k(x, x_new) - w'w_new)/s, or lose what the rotations leave last.
void BlockLearner::follow(const OnlineModel& model, const Block& block, Index column, double delta, bool swapped) {
  const Index rest = block.count - column - 1, row = block.row + column;
  if (rest == 0) return;
  const Basis& basis = model.state_.basis();
  const Index b = basis.offset(), m = basis.size() - (swapped ? 0 : 1), p = b + m;  // before the row became a kernel
  const double s = std::sqrt(delta);
  if (W_.rows() < p + 1) W_.conservativeResize(grown_capacity(W_.rows(), p + 1 + kPanel), Eigen::NoChange);

  const PreparedRows& prepared = model.prepared_;
  newcomer_.clear();
  newcomer_.append(prepared.coordinates(row), prepared.norm(row));
  if (with_newcomer_.cols() < rest) with_newcomer_.resize(kPanel, W_.cols());
  basis.kernel().block(newcomer_, prepared, row + 1, rest, with_newcomer_.leftCols(rest));

  auto later = W_.block(0, column + 1, p + 1, rest);
  for (Index r = 0; r < rest; ++r) {
    const double along = later.col(r).segment(b, m).dot(W_.col(column).segment(b, m));
    later(p, r) = (with_newcomer_(0, r) - along) / s;     // [MATH 3.1]
    delta_[column + 1 + r] -= later(p, r) * later(p, r);  // [MATH 3.1]
  }
  if (swapped) {
    basis.rotations().rotate_rows(later, b);
    delta_.segment(column + 1, rest).array() += later.row(p).transpose().array().square();
  }
}

void BlockLearner::information_dropped(const OnlineModel& model) {
  // computed again once enough rows came in blocks to pay for it
  quiet_rows_ = model.frozen() ? -2 * model.state_.basis().dimension() : 0;
}

bool BlockLearner::learns_in_parts(const OnlineModel& model, bool exact_apriori) const {
  return model.frozen() && model.state_.accumulating() && !exact_apriori && !model.settings_.window;
}

Index BlockLearner::rows_a_part(const OnlineModel& model) const {
  constexpr double kWork = 2e9;  // flops; far above the cost of adding a part's sums, far below a second
  const double m = static_cast<double>(model.dictionary().size() + 1);
  const double d = static_cast<double>(model.dictionary().kernel().n_features());
  Index rows = 2048;  // a power of two: part of the blocks that callers cut a stream into
  while (rows > 256 && 2 * m * (m + d) * static_cast<double>(rows) > kWork) rows /= 2;
  return rows;
}

Index BlockLearner::rows_a_step(const OnlineModel& model, bool exact_apriori) const {
  constexpr Index kRows = 1024, kParts = 8;
  if (!learns_in_parts(model, exact_apriori)) return kRows;
  return kParts * rows_a_part(model) - model.rows_seen() % rows_a_part(model);
}

// A part ends where the number of rows seen is a multiple of its length, and the sums are taken in by their order: the
// same bits for any number of threads, and for calls that end where parts do.
void BlockLearner::learn_parts(OnlineModel& model, const Rows& X, const Rows& Y, const ConstVectorRef& v,
                               LearnLog& log) const {
  const Basis& basis = model.state_.basis();
  const StreamState& state = model.state_;
  Vector weights = v;
  const auto sum_rows = [&](Index begin, Index end) {
    Posterior::Sums sums = state.leader().posterior.no_sums();
    Matrix W(basis.offset() + model.dictionary().padded(), kTile);
    PreparedRows prepared;
    for (Index first = begin; first < end; first += kTile) {
      const Index count = std::min(kTile, end - first);
      basis.kernel().prepare(X.middleRows(first, count), prepared);
      basis.coordinates(prepared, 0, X.middleRows(first, count), W);
      const auto w = W.topLeftCorner(basis.dimension(), count);
      for (Index r = 0; state.weighs_rows() && r < count; ++r) weights[first + r] *= state.row_weight(w.col(r));
      state.add_run(w, Y.middleRows(first, count), weights.segment(first, count), log.apriori.middleRows(first, count),
                    sums);
    }
    return sums;
  };
  const Index rows = X.rows(), part = rows_a_part(model), ahead = model.rows_seen() % part;
  const Index parts = (ahead + rows + part - 1) / part;
  const Index together = std::max<Index>(1, std::min(log.threads, parts));
  for (Index first = 0; first < parts; first += together) {
    const Index count = std::min(together, parts - first);
    std::vector<Posterior::Sums> sums(static_cast<std::size_t>(count));
    parallel_for(count, static_cast<int>(log.threads), [&](Index i) {
      const Index begin = std::max<Index>(0, (first + i) * part - ahead);
      sums[static_cast<std::size_t>(i)] = sum_rows(begin, std::min(rows, (first + i + 1) * part - ahead));
    });
    for (const Posterior::Sums& s : sums) model.state_.accumulate(s);
  }
  for (Index i = 0; i < rows; ++i) {
    const bool counts = v[i] > 0;
    model.journal_.record({counts ? Outcome::frozen : Outcome::ignored}, i, log.events);
    if (counts) model.state_.count(Y.row(i).data(), weights[i]);
  }
}

}  // namespace kernsift
