// Settings of an online model, of either engine.
#pragma once

#include <string>
#include <vector>

#include "core/stream/admission.hpp"
#include "core/stream/input_noise.hpp"

namespace kernsift {

// What an admission means when the dictionary is full.
enum class OnFull : std::uint8_t {
  prune,        // the kernel that lowers the cost least leaves, perhaps the newcomer itself [MATH 1.7]
  stop,         // the dictionary is frozen: from then on every row is a normal step
  drop_oldest,  // the oldest kernel leaves
};
OnFull on_full(const std::string& name);  // throws std::invalid_argument
const char* on_full_name(OnFull policy);

// A stream begun again.
struct BegunAgain {
  Index kept_rows = 0;         // the last rows, as they came, for whoever begins again from them
  std::int64_t first_row = 0;  // number of the first row in the stream: a model that begins again begins late
};

struct OnlineSettings {
  double alpha = 0.1;
  Admission admission{Rule::product, 1e-2, 1e-4};
  Index max_basis = 0;  // 0: no cap
  bool fit_intercept = true;
  // Beyond the papers; the explicit engine has none of it.
  Index swap_until = 0;  // rows after which a full dictionary is frozen; 0: never
  Index exact_rows = 0;  // recent rows on which a new kernel is exact; 0: the current one
  // Memories that compete on one dictionary: how much the past keeps of its weight with each row.
  std::vector<double> forgetting = {1.0};
  // Scale of each feature in a linear part beside the kernels; empty: none.
  std::vector<double> linear = {};
  // What the targets seen say of predictions.
  struct Targets {
    bool bounded = false;         // predictions stay near them (TargetRange)
    bool error_forecast = false;  // the errors of the last rows correct the prediction of the next (ErrorForecast)
    // The constant is measured from the first, where it has a ridge: not where targets stand for classes.
    bool level = true;
  } targets = {};
  NoiseForm noise = NoiseForm::constant;
  bool window = false;  // the exact rows are all there is: older ones are forgotten
  // Either engine.
  BegunAgain again = {};
  double hysteresis = 1;  // a kernel leaves for a newcomer this many times as useful, at most
  OnFull on_full = OnFull::prune;

  // The names of all settings, for whoever moves them: visit(name, reference) for each.
  template <class Settings, class Visit>
  static void each(Settings& s, const Visit& visit) {
    visit("alpha", s.alpha);
    visit("novelty_tol", s.admission.novelty_tol);
    visit("usefulness_tol", s.admission.usefulness_tol);
    visit("admission", s.admission.rule);
    visit("max_basis", s.max_basis);
    visit("fit_intercept", s.fit_intercept);
    visit("swap_until", s.swap_until);
    visit("exact_rows", s.exact_rows);
    visit("forgetting", s.forgetting);
    visit("linear", s.linear);
    visit("bounded", s.targets.bounded);
    visit("error_forecast", s.targets.error_forecast);
    visit("level", s.targets.level);
    visit("on_full", s.on_full);
    visit("noise", s.noise);
    visit("window", s.window);
    visit("hysteresis", s.hysteresis);
    visit("kept_rows", s.again.kept_rows);
    visit("first_row", s.again.first_row);
  }

  // Throws std::invalid_argument where a setting is out of its range: it may come from a file.
  const OnlineSettings& checked(Index n_outputs) const;

  bool forgets() const { return forgetting.size() > 1 || forgetting.front() < 1; }
  // The constant of a single model that forgets nothing needs no ridge, and is seated by the first row.
  bool free_constant() const { return fit_intercept && !forgets() && linear.empty(); }
  bool full(Index kernels) const { return max_basis > 0 && kernels >= max_basis; }
  bool prunes() const { return on_full == OnFull::prune; }

  // Who leaves for a newcomer of that usefulness: the number of a kernel; `kernels`, the newcomer itself; or one of the
  // two below. At the cap an admission is a growing and a pruning step, and the victim is found before anything is
  // changed, because most often it is the newcomer [MATH 1.7]. score(scores) fills in the scores after growth, or
  // returns false where there are none; `room` is kept between calls.
  static constexpr Index kNobody = -1, kNoScores = -2;
  template <class Score>
  Index leaver(Index kernels, double usefulness, double rounding, Vector& room, const Score& score) const {
    if (!full(kernels)) return kNobody;
    if (!prunes()) return 0;  // the oldest
    if (room.size() < kernels) room.resize(kernels);
    if (!score(VectorRef(room.head(kernels)))) return kNoScores;
    return weakest(room.head(kernels), hysteresis * usefulness, rounding);
  }
};

// What `learn` reports of each row.
struct LearnLog {
  RowsOut apriori;  // n x outputs: the prediction before the row was learned
  EventLog events;
  // False if the a-priori predictions are not used: the block path may then return predictions of a slightly older
  // model, and save half of its work.
  bool exact_apriori = true;
  // Most threads for rows that change no dictionary; the result does not depend on the number.
  Index threads = 1;
};

}  // namespace kernsift
