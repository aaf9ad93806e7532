// All that an online model has learned, and the steps that keep its parts together: the basis, the posterior on it, the
// pruning scores that follow the posterior, the recent rows and what is counted. Each step changes the basis once and
// each part by its own numbers. It decides nothing: OnlineModel does.
//
// Invariant: all parts have coordinates in the same basis, but for recent rows that nothing will read again.
#pragma once

#include "core/stream/basis.hpp"
#include "core/stream/learned_rows.hpp"
#include "core/stream/online_settings.hpp"
#include "core/stream/posterior.hpp"
#include "core/stream/pruning_scores.hpp"
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

class StreamState {
 public:
  StreamState(Kernel kernel, Index n_outputs, const OnlineSettings& settings);

  const Basis& basis() const { return basis_; }
  const Dictionary& dictionary() const { return basis_.dictionary(); }
  const Posterior& posterior() const { return posterior_; }
  const RecentRows& recent() const { return recent_; }
  const LearnedRows& learned() const { return learned_; }

  // --- one row: look, then exactly one of normal / grow ---
  RowScalars look(const ConstVectorRef& w, double k_self, const double* y, double v);
  // Whether its distance to the span is known well enough for it to become a kernel.
  bool is_resolved(const Sample& sample, double delta);
  void normal(const Sample& sample, const RowScalars& row);
  void grow(const Sample& sample, const RowScalars& row, std::int64_t id);
  bool scores_after_growth(const Sample& sample, const RowScalars& row, VectorRef scores);
  // The first row, when there is a bias.
  void seat_bias(const double* y, double v);
  void remove(Index i);
  // A row was learned: v its weight as given.
  void count(const double* y, double v) { learned_.add(y, v); }

  // --- recent rows, on which a new kernel is exact ---
  // The oldest row makes room; `weight` in the frame of the moment. `count_rounding` after each change of C by kept
  // rows.
  void keep(const Sample& sample, const double* y, double weight);
  void drop_recent() { recent_.clear(); }
  void count_rounding();
  // Growing by a row that is learned and kept: `look_exact` returns its usefulness and comes first.
  double look_exact(const Sample& sample, double delta);
  bool scores_after_exact_growth(const Sample& sample, double delta, VectorRef scores);
  void grow_exact(const Sample& sample, double delta, std::int64_t id);

  // --- many rows that stay outside the dictionary (Posterior says what each does) ---
  bool learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori);
  void accumulate_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori) {
    posterior_.accumulate_run(W, Y, v, apriori);
  }
  void accumulate(const Posterior::Sums& sums) { posterior_.accumulate(sums); }
  bool inform() { return posterior_.inform(); }
  void leave_information();
  bool drop_information() { return posterior_.drop_information(); }

  // --- all rows ---
  // Everything up to date with the rows learned: what reads the state needs it.
  void settle();
  void fade_if_due();
  bool change_ridge(double alpha);
  // No rows on the same dictionary.
  void restart();
  void track_scores() { scores_.track(basis_.span(), posterior_); }
  void leave_scores() { scores_.leave(); }
  void scores(VectorRef out) { scores_.scores(basis_.span(), out); }

  // --- the recent rows as all the model has seen: always of a window, and of any other model until more rows have come
  // than it keeps (window.cpp) ---
  // Of a window that is full: the row that makes room is unlearned, a normal step with minus its weight.
  void forget_oldest();
  void renew_from_rows();
  void renew_if_in_doubt();

  void check() const { posterior_.check(); }
  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);

 private:
  bool recent_rows_are_all() const { return window_.only || learned_.rows == recent_.size(); }
  void renew_scores(const Posterior::Factor& factor) { scores_.renew(basis_.span(), posterior_, factor); }

  struct Window {
    bool only = false;    // the recent rows are all there is: older ones are forgotten
    Index forgotten = 0;  // rows that left it since it was renewed
    // Of the recent rows: how far rounding may have taken C from their inverse, and the largest v |w|^2 among them.
    double doubt = 0, heaviest = 0;
    Vector oldest_y, along;  // workspace
  };

  Basis basis_;
  Posterior posterior_;
  PruningScores scores_;
  RecentRows recent_;
  LearnedRows learned_;
  Window window_;
};

}  // namespace kernsift
