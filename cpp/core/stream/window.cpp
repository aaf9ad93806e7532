// The recent rows, whose coordinates are exact, as all the model has seen: always of a sliding window, and of any other
// model until more rows have come than it keeps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stream/stream_state.hpp"

namespace kernsift {

namespace {
// Renew where predictions may be off by so much, relative to the targets.
constexpr double kMostDoubt = 1e-9;
}  // namespace

void StreamState::forget_oldest() {
  if (!window_is_full()) return;
  // Rounding does not fade: once in a window everything is computed afresh from the rows, O(m^2) a row.
  if (window_.forgotten >= recent_.capacity()) renew_from_rows();
  const Index oldest = recent_.oldest();
  const auto w = recent_.coordinates().col(oldest);
  const double v = recent_.weights()[oldest];
  if (!(v > 0)) return;  // the row that should have taken its place was refused
  Vector& y = window_.oldest_y;
  y = recent_.targets().row(oldest).transpose();  // measured from the level already
  first().scores.begin_row();
  const RowScalars row = first().posterior.look(w, 0.0, y.data(), -v);
  ++window_.forgotten;
  recent_.forget_oldest();
  y += level_.value;
  first().learned.remove(y.data(), v);
  constexpr double kLeastLeft = 1e-6;  // of the row's own weight in the direction it holds, and of all weight
  const double left = 1.0 + row.leverage;
  // minus a weight has no positive leverage: what shows one is rounding, beside a weight that leaves no digit of C
  if (left > kLeastLeft && row.leverage < kLeastLeft && first().learned.moments.weight() > kLeastLeft * v) {
    // what is left of the direction is a difference: it inherits the error of C, relative to what is left
    count_rounding();
    if (window_.doubt * v * w.squaredNorm() <= kMostDoubt * left) {
      first().posterior.forget(w, row);
      return first().scores.forget(basis_.span(), only(), w, row);
    }
  }
  renew_from_rows();
}

void StreamState::renew_from_rows() {
  const RowMatrix Y = recent_.targets();
  const auto weights = recent_.weights();
  if (window_.only) {
    window_.forgotten = 0;
    LearnedRows& learned = first().learned;
    learned.moments = TargetMoments(Y.cols());
    learned.sum_log_weights = 0;
    for (Index i = 0; i < Y.rows(); ++i)
      if (const double v = weights[i]; v > 0) {
        const Vector y = Y.row(i).transpose() + level_.value;
        learned.moments.add(y.data(), v);
        learned.sum_log_weights += std::log(v);
      }
  }
  renew_scores(first(), first().posterior.learn_only(recent_.coordinates(), Y, weights));
  window_.doubt = window_.heaviest = 0;
  if (recent_.size() > 0)
    window_.heaviest = (recent_.coordinates().colwise().squaredNorm().transpose().array() * weights.array()).maxCoeff();
  count_rounding();
}

// Every change of C rounds each of its p^2 elements, of size trace(C) / p, by up to eps: independent errors, whose
// matrix has a norm of about 2 sqrt(p) times one of them.
void StreamState::count_rounding() {
  if (recent_rows_are_all() && basis_.dimension() > 0)
    window_.doubt += 2.0 * std::numeric_limits<double>::epsilon() * only().trace() /
                     std::sqrt(static_cast<double>(basis_.dimension()));
}

void StreamState::renew_if_in_doubt() {
  if (window_.doubt * window_.heaviest > kMostDoubt && recent_.size() > 0 && recent_rows_are_all()) renew_from_rows();
}

}  // namespace kernsift
