// In steady state a row is learned and predicted without touching the heap, at every kind of step.
#include <map>
#include <memory>

#include "core/stream/literal_model.hpp"
#include "core/stream/lstd.hpp"
#include "core/stream/online_model.hpp"
#include "core/stream/prequential.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

// Eigen asserts on any allocation of its own while one of these lives.
struct NoMalloc {
  NoMalloc() { Eigen::internal::set_is_malloc_allowed(false); }
  ~NoMalloc() { Eigen::internal::set_is_malloc_allowed(true); }
};

OnlineSettings settings_of(Rule rule) { return {0.01, {rule, 1e-3, 1e-4}, 25, true}; }

// Three memories, a linear part beside the kernels and a forecast of errors.
OnlineSettings bank_of(Rule rule, Index dimension) {
  OnlineSettings settings = settings_of(rule);
  settings.forgetting = {1.0, 0.9995, 0.99};
  settings.linear.assign(static_cast<std::size_t>(dimension), 0.5);
  settings.targets.error_forecast = true;
  return settings;
}

// Noise that depends on the input, beside one memory: of several another may come to decide, which gets its scores in
// new room.
OnlineSettings uneven(NoiseForm form) {
  OnlineSettings settings = bank_of(Rule::product, 2);
  settings.forgetting = {1.0};
  settings.noise = form;
  return settings;
}

template <class Model>
void learn_without_allocation(const OnlineSettings& settings, Index dimension) {
  const Index n = 4000, warm = 2000;
  RowMatrix X = check::normal_rows(n, dimension, 31);
  X.middleRows(1500, 200).setZero();  // among the kernels: runs as long as any
  X.bottomRows(n - warm) *= 0.8;  // inputs do not move away: another memory that decides gets its scores in new room
  RowMatrix Y(n, 2);
  Y.col(0) = X.col(0).array().sin();
  Y.col(1) = X.col(1);
  const Vector v = Vector::Ones(n);
  Model model(Kernel(KernelKind::rbf, Vector::Constant(dimension, 0.5), 3, 1.0, Vector::Zero(dimension)), 2, settings);
  RowMatrix apriori(n, 2);
  std::vector<std::uint8_t> outcome(n);
  std::vector<std::int64_t> victim(n);
  model.learn(X.topRows(warm), Y.topRows(warm), v.head(warm), {apriori.topRows(warm), {outcome.data(), victim.data()}});
  {
    const NoMalloc guard;
    model.learn(X.bottomRows(n - warm), Y.bottomRows(n - warm), v.tail(n - warm),
                {apriori.bottomRows(n - warm), {outcome.data() + warm, victim.data() + warm}});
  }
  std::map<int, int> seen;
  for (Index i = warm; i < n; ++i) ++seen[outcome[static_cast<std::size_t>(i)]];
  CHECK(seen[static_cast<int>(Outcome::swapped)] > 0);  // growing and pruning were among the steps
  CHECK(seen[static_cast<int>(Outcome::bounced)] > 0);
  CHECK(model.dictionary().size() == 25);
}

// Predictions with a delay, and variances where they are wanted.
void predict_then_learn_without_allocation(const OnlineSettings& settings, Index outputs, bool with_variance) {
  const Index n = 1200, warm = 1000, delay = 5;
  const RowMatrix X = check::normal_rows(n, 2, 31);
  RowMatrix Y(n, outputs);
  for (Index o = 0; o < outputs; ++o) Y.col(o) = (X.col(0).array() * static_cast<double>(o + 1)).sin();
  const Vector v = Vector::Ones(n);
  OnlineModel model(Kernel(KernelKind::rbf, Vector::Constant(2, 0.5), 3, 1.0, Vector::Zero(2)), outputs, settings);
  RowMatrix mean(n, outputs), variance(with_variance ? n : 0, outputs);
  RowMatrix members = RowMatrix::Constant(n, model.member_numbers(), std::nan(""));  // until targets come
  RowMatrix said = RowMatrix::Constant(with_variance ? n : 0, 3 * outputs, std::nan("")), half(0, outputs);
  std::vector<std::int64_t> sizes(n);
  Foretelling out{mean, variance, half, 0.0, members, said, sizes.data()};
  prequential(model, X, Y, v, delay, 0, warm, out);
  {
    const NoMalloc guard;
    prequential(model, X, Y, v, delay, warm, n + delay, out);
  }
  CHECK(model.rows_seen() == n);
  CHECK(!with_variance || variance.bottomRows(n - warm).minCoeff() > 0);
}

}  // namespace

TEST(no_allocation_a_row_predicted_then_learned) {
  for (const OnlineSettings& settings :
       {settings_of(Rule::product), bank_of(Rule::product, 2), uneven(NoiseForm::automatic), uneven(NoiseForm::input)})
    for (const Index outputs : {1, 5}) {
      predict_then_learn_without_allocation(settings, outputs, false);
      predict_then_learn_without_allocation(settings, outputs, true);
    }
}

TEST(no_allocation_a_row_online) { learn_without_allocation<OnlineModel>(settings_of(Rule::product), 2); }
TEST(no_allocation_a_row_literal) { learn_without_allocation<LiteralModel>(settings_of(Rule::product), 2); }
TEST(no_allocation_a_row_unsupervised) { learn_without_allocation<OnlineModel>(settings_of(Rule::novelty), 3); }
TEST(no_allocation_a_row_of_a_bank) { learn_without_allocation<OnlineModel>(bank_of(Rule::product, 2), 2); }
TEST(no_allocation_a_row_of_uneven_noise) {
  learn_without_allocation<OnlineModel>(uneven(NoiseForm::automatic), 2);
  learn_without_allocation<OnlineModel>(uneven(NoiseForm::input), 2);
}

TEST(no_allocation_a_transition) {
  const Index n = 4000, warm = 2000;
  const RowMatrix S = check::normal_rows(n + 1, 2, 31);
  const Vector r = S.col(0).head(n).array().sin();
  std::unique_ptr<bool[]> flags(new bool[n]()), learned(new bool[n]());
  KernelLSTD model(Kernel(KernelKind::rbf, Vector::Constant(2, 0.5), 3, 1.0, Vector::Zero(2)),
                   {0.01, 0.9, 0.5, {Rule::novelty, 1e-3, 0.0}, 25, false});
  std::vector<std::uint8_t> outcome(2 * n);
  std::vector<std::int64_t> victim(2 * n);
  model.learn(S.topRows(warm), r.head(warm), S.middleRows(1, warm), flags.get(), flags.get(),
              {{outcome.data(), victim.data()}, learned.get()});
  {
    const NoMalloc guard;
    model.learn(S.middleRows(warm, n - warm), r.tail(n - warm), S.middleRows(warm + 1, n - warm), flags.get(),
                flags.get(), {{outcome.data() + 2 * warm, victim.data() + 2 * warm}, learned.get() + warm});
  }
  std::map<int, int> seen;
  for (Index i = 2 * warm; i < 2 * n; ++i) ++seen[outcome[static_cast<std::size_t>(i)]];
  CHECK(seen[static_cast<int>(Outcome::swapped)] > 0);
  CHECK(seen[static_cast<int>(Outcome::bounced)] > 0);
  CHECK(model.dictionary().size() == 25);
}
