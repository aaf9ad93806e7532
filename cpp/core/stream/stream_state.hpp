// All that an online model has learned, and the steps that keep its parts together: the basis, the memories on it with
// their weights, the recent rows. Each step changes the basis once and each part by its own numbers. It decides
// nothing: OnlineModel does.
//
// Invariant: all parts have coordinates in the same basis, but for recent rows that nothing will read again.
#pragma once

#include <optional>
#include <vector>

#include "core/stream/basis.hpp"
#include "core/stream/coverage.hpp"
#include "core/stream/error_forecast.hpp"
#include "core/stream/input_noise.hpp"
#include "core/stream/memory.hpp"
#include "core/stream/mixture.hpp"
#include "core/stream/novelty.hpp"
#include "core/stream/online_settings.hpp"
#include "core/stream/recent_rows.hpp"

namespace kernsift {

// A row as it is decided on: as it was given, its place among the prepared rows, k(x, x) and its coordinates.
struct Sample {
  const double* x;
  const PreparedRows& prepared;
  Index row;
  double k_self;
  ConstVectorRef w;
};

// Of several rows together: their covariance, an output each, and the variance of the noise (outputs x rows).
struct Joint {
  std::vector<Matrix> covariance;
  Matrix noise;
};

class StreamState {
 public:
  StreamState(Kernel kernel, Index n_outputs, const OnlineSettings& settings);

  const Basis& basis() const { return basis_; }
  const Dictionary& dictionary() const { return basis_.dictionary(); }
  const std::vector<Memory>& memories() const { return memories_; }
  const Mixture& mixture() const { return mixture_; }
  // The memory that decides on the dictionary: the first, or the last while the inputs have moved.
  const Memory& decider() const { return novelty_.moved() ? memories_.back() : memories_.front(); }
  // The memory that predicts best at present: what a model has once is read from it.
  const Memory& leader() const { return memories_[static_cast<std::size_t>(mixture_.heaviest())]; }
  const RecentRows& recent() const { return recent_; }
  const Coverage& coverage() const { return coverage_; }
  const std::optional<InputNoise>& input_noise() const { return noise_; }

  // --- one row: look, then exactly one of normal / grow, then `end_row` if it was learned ---
  // The scalars of the decider; their weight is that of the row times `row_weight`.
  RowScalars look(const ConstVectorRef& w, double k_self, const double* y, double v);
  bool sound() const;  // of the row of the last look, for all memories
  // The prediction before the row, of the mixture, and with what the last errors tell.
  double mixed(Index o, const double* y) const {
    return y[o] - (memories_.size() == 1 ? errors_(o, 0) : errors_.row(o).dot(mixture_.weights()));
  }
  void apriori(const double* y, double* out) const;
  // A prediction of the next row, corrected by the error foretold.
  double corrected(Index o, double predicted) const {
    return forecast_.on() ? forecast_.corrected(forecast_.say(o, predicted)) : predicted;
  }
  // What the row of the last look, at squared distance delta, says of the width of intervals and of the noise; before
  // it is learned.
  void compare(const ConstVectorRef& w, double delta, const double* y);
  // What noise that depends on the input multiplies the weight of a row with.
  bool weighs_rows() const { return noise_ && noise_->weighs(); }
  double row_weight(const ConstVectorRef& w) const { return weighs_rows() ? noise_->weight(w) : 1.0; }
  // Whether its distance to the span is known well enough for it to become a kernel.
  bool is_resolved(const Sample& sample, double delta);
  void normal(const Sample& sample);
  void grow(const Sample& sample, std::int64_t id);
  bool scores_after_growth(const Sample& sample, VectorRef scores);
  void end_row(double v, double novelty, const double* y);
  Vector unaided() const;
  // What each memory predicts at coordinates w, with what there is to tell the error from; and that the next row to be
  // learned was predicted so: the memories are weighed by it (OnlineModel), and the forecast of errors learns from it.
  Index member_numbers() const {
    return errors_.size() + (forecast_.on() ? ErrorForecast::Said::kNumbers * errors_.rows() : 0);
  }
  void predict_members(const ConstVectorRef& w, VectorRef out) const;
  void weigh_by(const ConstVectorRef& predictions);
  // The same for intervals: what was said of the next row when it came; `constant` is the variance of constant noise.
  void compare_with(const ConstVectorRef& mean, const ConstVectorRef& variance, const ConstVectorRef& constant);
  void as_it_is() { predicted_.weigh = predicted_.compare = false; }  // the row was refused, or had no weight
  void pause_forecasts(bool paused) {
    coverage_.pause(paused);
    forecast_.pause(paused);
    if (noise_) noise_->pause(paused);
  }
  // The first row fixes where targets are measured from: the bias is seated by it, or it is the level. True where it
  // is still to come.
  bool first_row_pending() const { return level_.pending || only().bias_pending(); }
  void begin(const double* y, double v);
  void remove(Index i);
  // A row was learned: v its weight as given.
  void count(const double* y, double v) {
    for (Memory& each : memories_) each.learned.add(y, v);
  }

  // --- recent rows, on which a new kernel is exact: of a single memory ---
  // The oldest row makes room. `count_rounding` after each change of C by kept rows.
  void keep(const Sample& sample, const double* y, double weight);
  void drop_recent() { recent_.clear(); }
  void count_rounding();
  // Growing by a row that is learned and kept: `look_exact` returns its usefulness and comes first.
  double look_exact(const Sample& sample, double delta);
  bool scores_after_exact_growth(const Sample& sample, double delta, VectorRef scores);
  void grow_exact(const Sample& sample, double delta, std::int64_t id);

  // --- many rows that stay outside the dictionary ---
  // As the steps of one row after another, on `threads` threads with the same result for any number; `sound` gets 0
  // where a row was refused.
  void learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, const ConstVectorRef& delta,
                 const ConstVectorRef& k_self, RowsOut apriori, unsigned char* sound, Index threads);
  // As sums: of a single memory that forgets nothing (Posterior says what each does).
  bool sums() const { return memories_.size() == 1 && !only().fades(); }
  void begin_run() {
    for (Memory& each : memories_) each.counted_so_far = each.learned.counted;
  }
  // For intervals the variance of the coefficients, small after many rows, is left out.
  void accumulate_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, const ConstVectorRef& delta,
                      RowsOut apriori);
  void add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori,
               Posterior::Sums& sums) const;
  void accumulate(const Posterior::Sums& sums) { first().posterior.accumulate(sums); }
  bool accumulating() const { return only().accumulating(); }
  bool inform() { return sums() && first().posterior.inform(); }
  void leave_information();
  bool drop_information() { return first().posterior.drop_information(); }

  // --- all rows ---
  // Everything up to date with the rows learned: what reads the state needs it.
  void settle();
  bool change_ridge(double alpha);
  // No rows on the same dictionary.
  void restart();
  // Of the memory that decides, the only one whose scores are read.
  void track_scores() { decider().scores.track(basis_.span(), decider().posterior); }
  void leave_scores() {
    for (Memory& each : memories_) each.scores.leave();
  }
  void scores(VectorRef out) { decider().scores.scores(basis_.span(), out); }

  // --- the recent rows as all the model has seen: always of a window, and of any other model until more rows have come
  // than it keeps (window.cpp) ---
  bool window_is_full() const { return window_.only && recent_.size() == recent_.capacity(); }
  // Of a window that is full: the row that makes room is unlearned, a normal step with minus its weight.
  void forget_oldest();
  void renew_from_rows();
  void renew_if_in_doubt();

  // --- read, once settled ---
  // Of the mixture: the coefficients in the basis, dimension x outputs, valid until the next call, and what targets are
  // measured from.
  ConstMatrixRef theta() const;
  const Vector& level() const { return level_.value; }
  // Variance of a new observation at each column of W, at squared distances delta to the span: n x outputs.
  RowMatrix variance(const ConstMatrixRef& W, const ConstVectorRef& delta) const;  // [MATH 1.9] [BEYOND B9]
  // The same of one row, and what it would be with constant noise; nothing is allocated.
  void variance_one(const ConstVectorRef& w, double delta, VectorRef out);
  const Vector& constant_variance_one() const { return uneven_.constant_variance; }
  // Covariance of new observations at rows X with coordinates W, without their noise, and that noise at each row.
  Joint covariance(const Rows& X, const ConstMatrixRef& W, double alpha) const;

  void check() const {
    for (const Memory& each : memories_) each.posterior.check();
  }
  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

 private:
  const Posterior& only() const { return memories_.front().posterior; }
  Memory& first() { return memories_.front(); }
  Memory& decider() { return novelty_.moved() ? memories_.back() : memories_.front(); }
  bool recent_rows_are_all() const { return window_.only || first_rows() == recent_.size(); }
  std::int64_t first_rows() const { return memories_.front().learned.rows; }
  void renew_scores(Memory& memory, const Posterior::Factor& factor) {
    memory.scores.renew(basis_.span(), memory.posterior, factor);
  }
  const double* measured(const double* y);
  Rows measured(const Rows& Y);
  void weigh(double v, double novelty);
  void learn_errors(const double* y);
  RowMatrix noise_factors(const ConstMatrixRef& W) const;
  template <class Noise, class Relative>
  void compare(const ConstVectorRef& w, const double* y, const Noise& noise, const Relative& relative);

  struct Window {
    bool only = false;    // the recent rows are all there is: older ones are forgotten
    Index forgotten = 0;  // rows that left it since it was renewed
    // Of the recent rows: how far rounding may have taken C from their inverse, and the largest v |w|^2 among them.
    double doubt = 0, heaviest = 0;
    Vector oldest_y, along;  // workspace
  };
  // What targets are measured from, where the constant has a ridge: the first target, so that the ridge pulls towards
  // the targets and not towards 0.
  struct Level {
    bool kept = false, pending = false;  // pending: the first row is still to come
    Vector value;                        // outputs
    RowMatrix measured;                  // workspace
  };

  Basis basis_;
  std::vector<Memory> memories_;
  Mixture mixture_;
  Novelty novelty_;
  Coverage coverage_;
  ErrorForecast forecast_;
  std::optional<InputNoise> noise_;
  Matrix errors_;  // of the row of the last look: outputs x memories
  struct Uneven {
    double lightened = 0;      // 1/v of that row as given, less 1/v as it is learned
    Vector constant_variance;  // of the last `variance_one`
  } uneven_;
  struct Predicted {
    Matrix members;  // of the next row to learn, if it was predicted earlier: outputs x memories
    std::vector<ErrorForecast::Said> said;
    Vector mean, variance;  // and of the mixture
    Vector constant;        // the variance with constant noise
    bool weigh = false, compare = false;
  } predicted_;
  mutable Matrix mixed_;  // workspace
  std::vector<Foretold> foretold_;
  std::vector<unsigned char> sound_;
  RecentRows recent_;
  Window window_;
  Level level_;
};

}  // namespace kernsift
