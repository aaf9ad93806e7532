// Many rows of an OnlineModel at once: the same decisions, in the same order, as one row at a time.
//
// Whether a row is novel depends on the dictionary only, so a block is screened at once (delta = k* - |w|^2 for all
// its rows) and cut into runs of rows inside the span, learned as matrix products, and the novel rows between them,
// which the model decides one by one. When one of those changes the dictionary, the coordinates and distances of the
// rows still to come follow in O(m) each [MATH 3.1].
//
// Rows that can change no dictionary (a second pass, or a frozen dictionary) are sums, which any thread may make.
#pragma once

#include <vector>

#include "core/kernel/kernels.hpp"
#include "core/stream/online_settings.hpp"
#include "core/stream/posterior.hpp"

namespace kernsift {

class OnlineModel;

class BlockLearner {
 public:
  explicit BlockLearner(Index n_features) : newcomer_(n_features) {}

  // Rows first .. first + count - 1 of a call, the rows row, row + 1, ... of the model's prepared chunk.
  struct Block {
    const Rows &X, &Y;
    const ConstVectorRef& v;
    LearnLog& log;
    Index row, first, count;
  };
  void learn(OnlineModel& model, const Block& block);

  bool learns_in_parts(const OnlineModel& model, bool exact_apriori) const;
  void learn_parts(OnlineModel& model, const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog& log) const;
  Index rows_a_step(const OnlineModel& model, bool exact_apriori) const;

  // Rows since one last needed more than a normal step: after as many as it costs, the information form is worth its
  // price.
  std::int64_t quiet_rows() const { return quiet_rows_; }
  void set_quiet_rows(std::int64_t rows) { quiet_rows_ = rows; }
  // The model left it for rows that come one at a time.
  void information_dropped(const OnlineModel& model);

 private:
  void screen(const OnlineModel& model, const Block& block);
  void learn_alone(OnlineModel& model, const Block& block, Index column);
  void learn_run(OnlineModel& model, const Block& block, Index begin, Index count);
  void follow(const OnlineModel& model, const Block& block, Index column, double delta, bool swapped);
  Index rows_a_part(const OnlineModel& model) const;

  Matrix W_;               // coordinates of the rows of the block, and room to grow
  Vector delta_, k_self_;  // their squared distances to the span, and k(x, x)
  Vector weights_;
  std::vector<unsigned char> sound_;
  Panels newcomer_;
  Matrix with_newcomer_;
  std::int64_t quiet_rows_ = 0;
};

}  // namespace kernsift
