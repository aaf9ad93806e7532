// Bytes into parameters, rows and calls on the core, steered by the branches they reach (libFuzzer).
//
// What Python refuses is not tried: the bounds below are those of python/kernsift/base/validation.py and of cpp/bind.
// Whatever is allowed must leave numbers in every state, keep the dictionary's invariants, come back from saved arrays
// bit for bit, and neither touch memory that is not its own nor hang. Foreign arrays are refused by
// std::invalid_argument or loaded; a model of nonsense may return nonsense.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "bytes.hpp"
#include "core/base/limits.hpp"
#include "core/batch/lssvm.hpp"
#include "core/batch/subset.hpp"
#include "core/select/feature_vectors.hpp"
#include "core/stream/literal_model.hpp"
#include "core/stream/lstd.hpp"
#include "core/stream/online_model.hpp"
#include "core/stream/prequential.hpp"

namespace kernsift::fuzz {
namespace {

constexpr int kMost = 100;                          // decimal exponent of what core/base/limits.hpp bounds
constexpr Index kMostSteps = 24, kMostRows = 2500;  // of one input

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "the core broke a promise: %s\n", what);
  std::abort();
}

// --- what a call is given

Kernel some_kernel(Bytes& bytes) {
  const auto kind = static_cast<KernelKind>(bytes.below(6));
  const Index d = 1 + bytes.below(3);
  Vector gamma(d), centre(d);
  for (Index j = 0; j < d; ++j) {
    gamma[j] = bytes.chance(32) ? bytes.positive(308) : 0.5;
    centre[j] = bytes.number(8);
  }
  const double coef0 = bytes.chance(128) ? 1.0 : std::abs(bytes.number(20));
  return Kernel(kind, gamma, 1 + static_cast<int>(bytes.below(4)), coef0, centre);
}

struct Block {
  RowMatrix X, Y;
  Vector v;
};

// Rows Python lets through: finite, targets and k(x, x) of at most 1e100, and as much of a linear part of these scales.
Block some_rows(Bytes& bytes, const Kernel& kernel, Index outputs, Index most = 200,
                const std::vector<double>& linear = {}) {
  const Index lengths[] = {1, 1, 1, 2, 2, 3, 7, 20, 65},
              long_ones[] = {200, 2100};  // two blocks; a part of a second pass
  const Index n = std::min(most, bytes.chance(4) ? bytes.one_of(long_ones) : bytes.one_of(lengths));
  const Index d = kernel.n_features(), told = std::min<Index>(n, 24);
  const bool large = bytes.chance(64), weighted = bytes.chance(64);
  const double scale = bytes.chance(48) ? bytes.positive(kMost) : 1.0;  // of all weights
  Block block{RowMatrix(n, d), RowMatrix(n, outputs), Vector::Ones(n)};
  for (Index i = 0; i < n; ++i) {
    if (i >= told) {  // more rows than bytes: the given ones, shifted
      const double shift = static_cast<double>(i / told) / 64.0;
      block.X.row(i) = block.X.row(i % told).array() + shift;
      block.Y.row(i) = block.Y.row(i % told).array() - shift;
      block.v[i] = block.v[i % told];
      continue;
    }
    for (Index j = 0; j < d; ++j) block.X(i, j) = bytes.number(large ? 308 : 2);
    for (Index o = 0; o < outputs; ++o) block.Y(i, o) = bytes.number(large ? kMost : 2);
    if (weighted) block.v[i] = bytes.chance(64) ? 0.0 : bytes.positive(bytes.chance(64) ? kMost : 1);
    if (block.v[i] > 0) block.v[i] = std::clamp(scale * block.v[i], kSmallest, kLargest);
  }
  PreparedRows prepared;
  kernel.prepare(block.X, prepared);
  for (Index i = 0; i < n; ++i) {
    double beside = 0;
    for (std::size_t j = 0; j < linear.size(); ++j) {
      const double z = linear[j] * (block.X(i, static_cast<Index>(j)) - kernel.centre()[static_cast<Index>(j)]);
      beside += z * z;
    }
    if (!(kernel.self(prepared, i) + beside <= kLargest) || !block.X.row(i).allFinite()) block.X.row(i).setZero();
    block.Y.row(i) = block.Y.row(i).cwiseMax(-kLargest).cwiseMin(kLargest);
  }
  return block;
}

Admission some_admission(Bytes& bytes) {
  const double tol[] = {0.0, 1e-10, 1e-4, 1e-2, 0.3, 1.0, 1e300};
  const auto rule = static_cast<Rule>(bytes.below(4));
  const double novelty = bytes.one_of(tol), usefulness = bytes.one_of(tol);
  return {rule, novelty, usefulness};
}

double some_ridge(Bytes& bytes) { return bytes.chance(96) ? std::min(bytes.positive(kMost), kLargest) : 0.1; }

OnlineSettings some_settings(Bytes& bytes, Index features, bool beyond_the_papers) {
  OnlineSettings settings{};
  settings.alpha = some_ridge(bytes);
  settings.admission = some_admission(bytes);
  settings.max_basis = bytes.below(9);
  settings.fit_intercept = !bytes.chance(96);
  settings.on_full = static_cast<OnFull>(bytes.below(3));
  settings.hysteresis = bytes.chance(64) ? 0.5 : 1.0;
  const Index way = bytes.below(6);
  if (!beyond_the_papers) return settings;
  if (way == 1) {
    const double forgetting[] = {1e-6, 0.1, 0.9, 0.999, 1.0};
    for (double& factor : settings.forgetting) factor = bytes.one_of(forgetting);
    for (Index more = bytes.below(4); more > 0; --more) settings.forgetting.push_back(bytes.one_of(forgetting));
  }
  if (bytes.chance(96)) {
    const double scale[] = {0.0, 1e-8, 0.5, 1.0};
    for (Index j = 0; j < features; ++j) settings.linear.push_back(bytes.one_of(scale));
  }
  settings.targets.level = !bytes.chance(64);
  settings.targets.error_forecast = bytes.chance(128);
  if (way == 2) settings.exact_rows = bytes.below(12);
  if (way == 3 && settings.max_basis > 0) settings.swap_until = 1 + bytes.below(40);
  if (way == 4) {
    settings.window = true;
    settings.exact_rows = 2 + bytes.below(20);
  }
  if (!(settings.alpha > 0) && (way != 0 || !settings.linear.empty())) settings.alpha = 0.1;
  if (settings.alpha > 0) settings.noise = static_cast<NoiseForm>(bytes.below(3));
  return settings;
}

// --- what must hold

bool finite(const Arrays& arrays) {
  for (const auto& [name, value] : arrays.items())
    if (!value.allFinite()) {
      std::fprintf(stderr, "%s holds NaN or infinity\n", name.c_str());
      return false;
    }
  return true;
}

bool equal(const Arrays& a, const Arrays& b) {
  return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.rows() == y.second.rows() &&
                             x.second.cols() == y.second.cols() && (x.second.array() == y.second.array()).all();
                    });
}

void check_dictionary(const Dictionary& dictionary, Index cap, const Counters& counters, std::int64_t counted) {
  require(cap == 0 || dictionary.size() <= cap, "no more kernels than the cap");
  require(std::is_sorted(dictionary.ids().begin(), dictionary.ids().end()), "kernels in the order of their rows");
  std::int64_t sum = 0;
  for (const std::int64_t count : counters) sum += count;
  require(sum == counted, "every row counted once");
}

template <class Model>
void check(Model& model) {
  model.settle();
  require(finite(model.save()), "numbers in the state of the online model");
  check_dictionary(model.dictionary(), model.settings().max_basis, model.counters(), model.rows_seen());
}

// Foreign arrays: one of them with other numbers or of another shape.
template <class Model>
void load_foreign(Bytes& bytes, Model& model) {
  Arrays arrays = model.save();
  auto at = arrays.items().begin();
  std::advance(at, bytes.below(static_cast<Index>(arrays.items().size())));
  Matrix value = at->second;
  if (bytes.chance(96)) value.conservativeResize(bytes.below(5), bytes.below(5));
  const double odd[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, -1e300, 0.0, -1.0, 1e18, 0.5, 3.0};
  for (Index i = 0; i < value.size(); ++i) value.data()[i] = bytes.one_of(odd);
  arrays.put(at->first, value);
  Model other = model;
  try {
    other.load(arrays);
  } catch (const std::invalid_argument&) {
    return;
  }
  const Index d = model.dictionary().kernel().n_features();
  RowMatrix out(3, arrays.get("target_mean").rows());
  other.predict(RowMatrix::Ones(3, d), out);
  const RowMatrix X = RowMatrix::Random(5, d), Y = RowMatrix::Random(5, out.cols());
  RowMatrix apriori(5, out.cols());
  std::uint8_t outcome[5];
  std::int64_t victim[5];
  other.learn(X, Y, Vector::Ones(5), {apriori, outcome, victim});
}

// --- the models

// What only one engine has: another ridge, and a second pass.
void beyond_the_papers(Bytes& bytes, OnlineModel& model, const Block& rows, LearnLog log) {
  const OnlineSettings settings = model.settings();
  if (bytes.chance(128)) {
    model.settle();
    model.change_ridge(some_ridge(bytes));
  } else if (!settings.window && (rows.v.array() > 0).any()) {
    OnlineModel again = model;
    again.begin_refit();
    log.exact_apriori = false;
    again.learn(rows.X, rows.Y, rows.v, log);
    again.end_refit();
    model = std::move(again);
  }
}
void beyond_the_papers(Bytes&, LiteralModel&, const Block&, const LearnLog&) {}

template <class Model>
void online(Bytes& bytes) {
  const Kernel kernel = some_kernel(bytes);
  const Index outputs = 1 + bytes.below(2);
  const OnlineSettings settings = some_settings(bytes, kernel.n_features(), std::is_same_v<Model, OnlineModel>);
  Model model(kernel, outputs, settings);
  std::vector<std::uint8_t> outcome;
  std::vector<std::int64_t> victim;
  Index left = settings.max_basis > 0 ? kMostRows : 200;  // without a cap every row may become a kernel
  for (Index step = 0; step < kMostSteps && left > 0 && bytes.more(); ++step) {
    const Index way = bytes.below(10);
    const Block rows = some_rows(bytes, kernel, outputs, left, settings.linear);
    const Index n = rows.X.rows();
    left -= n;
    RowMatrix out(n, outputs), more(n, outputs);
    outcome.resize(static_cast<std::size_t>(n));
    victim.resize(static_cast<std::size_t>(n));
    const LearnLog log{out, {outcome.data(), victim.data()}, bytes.chance(96), 1};
    if (way < 4) {
      model.learn(rows.X, rows.Y, rows.v, log);
    } else if (way == 4) {
      for (Index i = 0; i < std::min<Index>(n, 20); ++i) {
        model.update(rows.X.row(i).transpose(), rows.Y.row(i).transpose(), rows.v[i]);
        Vector one(outputs);
        model.predict_one(rows.X.row(i).transpose(), one);
      }
    } else if (way == 5) {
      model.settle();
      model.predict(rows.X, out);
      RowMatrix variance(n, outputs);
      model.variance(rows.X, variance);
      gcv(model);
      log_evidence(model);
    } else if (way == 6 && n < 100) {
      const Index delay = bytes.below(5);
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(n));
      RowMatrix members = RowMatrix::Constant(delay > 0 ? n : 0,
                                              outputs * static_cast<Index>(settings.forgetting.size()), std::nan(""));
      RowMatrix half(more.rows(), outputs);
      RowMatrix said = RowMatrix::Constant(delay > 0 ? more.rows() : 0, 2 * outputs, std::nan(""));
      Foretelling foretold{out, more, half, 0.1 * (1 + bytes.below(40)), members, said, sizes.data()};
      prequential(model, rows.X, rows.Y, rows.v, delay, 0, n + delay, foretold);
    } else if (way == 7 && model.rows_learned() > 0 && settings.alpha > 0) {
      model.settle();
      model.prune(1 + bytes.below(8));
    } else if (way == 8 && model.rows_learned() > 0 && settings.alpha > 0) {
      beyond_the_papers(bytes, model, rows, log);
    } else if (way == 9) {
      check(model);
      Model other(kernel, outputs, model.settings());
      other.load(model.save());
      require(equal(other.save(), model.save()), "a saved model comes back bit for bit");
      load_foreign(bytes, model);
    }
  }
  check(model);
}

void temporal_differences(Bytes& bytes) {
  const Kernel kernel = some_kernel(bytes);
  LSTDSettings settings{};
  settings.alpha = some_ridge(bytes);
  settings.discount = static_cast<double>(bytes.byte()) / 255.0;
  settings.residual = bytes.chance(96);
  settings.trace_decay = settings.residual ? 0.0 : static_cast<double>(bytes.byte()) / 255.0;
  settings.admission = some_admission(bytes);
  settings.max_basis = bytes.below(9);
  KernelLSTD model(kernel, settings);
  for (Index step = 0; step < kMostSteps && bytes.more(); ++step) {
    const Block rows = some_rows(bytes, kernel, 1);
    const Index n = rows.X.rows() - 1;
    if (bytes.chance(32)) {
      KernelLSTD other(kernel, settings);
      other.load(model.save());
      require(equal(other.save(), model.save()), "a saved value function comes back bit for bit");
    }
    if (n < 1 || n > 100) continue;
    std::vector<std::uint8_t> outcome(static_cast<std::size_t>(2 * n));
    std::vector<std::int64_t> victim(static_cast<std::size_t>(2 * n));
    bool flags[2][100], learned[100];
    for (auto& kind : flags)
      for (bool& flag : kind) flag = false;
    flags[0][bytes.below(n)] = flags[1][bytes.below(n)] = true;
    model.learn(rows.X.topRows(n), rows.Y.col(0).head(n), rows.X.bottomRows(n), flags[0], flags[1],
                {{outcome.data(), victim.data()}, learned});
    require(finite(model.save()), "numbers in the state of the value function");
    check_dictionary(model.dictionary(), settings.max_basis, model.counters(), 2 * model.transitions());
    RowMatrix out(rows.X.rows(), 1);
    model.predict(rows.X, out);
  }
}

// What a batch model calls of the core: a basis, the sums over the rows, and the solution from them.
void batch(Bytes& bytes) {
  const Kernel kernel = some_kernel(bytes);
  const Index outputs = 1 + bytes.below(2);
  Block rows = some_rows(bytes, kernel, outputs);
  const Index n = std::min<Index>(rows.X.rows(), 100);
  const RowMatrix X = rows.X.topRows(n), Y = rows.Y.topRows(n);
  const Vector v = rows.v.head(n);
  const double alpha = some_ridge(bytes);
  const bool bias = bytes.chance(128);

  std::vector<Index> which(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) which[static_cast<std::size_t>(i)] = i;
  SelectableRows patterns(kernel, X, which);
  FeatureVectorSettings wanted;
  wanted.form = static_cast<SelectionForm>(bytes.below(3));
  wanted.max_basis = 1 + bytes.below(12);
  wanted.n_candidates = bytes.below(20);
  wanted.n_eval = bytes.below(20);
  if (wanted.form == SelectionForm::dense) wanted.n_candidates = wanted.n_eval = 0;
  wanted.candidate_tol = bytes.chance(64) ? 0.0 : 1e-10;
  const FeatureVectors found = select_feature_vectors(patterns, v.cwiseMax(kSmallest), wanted);
  require(static_cast<Index>(found.chosen.size()) <= wanted.max_basis, "no more vectors than requested");
  for (const Index i : found.chosen) require(i >= 0 && i < n, "vectors are rows");
  if (found.chosen.empty()) return;

  const Index m = static_cast<Index>(found.chosen.size());
  RowMatrix vectors(m, X.cols());
  for (Index i = 0; i < m; ++i) vectors.row(i) = X.row(found.chosen[static_cast<std::size_t>(i)]);
  PreparedRows prepared;
  kernel.prepare(vectors, prepared);
  const Panels elements = elements_of(kernel, prepared);
  Matrix square = Matrix::Zero(m, m);
  NormalSums sums(square, outputs);
  accumulate(kernel, elements, RowMatrix(), X, Y, v, Vector::Zero(outputs), 1, sums);
  if (sums.weight > 0) {
    const Vector offset = Vector::Zero(outputs);
    const RidgeSums given{sums.M, sums.z, sums.s, sums.y, sums.yy, offset, sums.weight, v.size() * 1.0, 1e-12};
    RidgeProblem problem(given, bias, 1);
    problem.best_gcv();
    if (problem.factor_into(sums.M, alpha)) require(square.allFinite(), "a factor is made of numbers");
  }

  if ((v.array() > 0).all()) {
    DenseSolution dense;
    if (solve_dense(kernel, X, Y, v, alpha, bias, dense)) {
      dense_slack(dense.factor, v, alpha, bias);
      Vector spread(n);
      dense_variance(kernel, X, dense.factor, v, bias, X, spread);
    }
  }
}

}  // namespace
}  // namespace kernsift::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kernsift;
  fuzz::Bytes bytes(data, size);
  const Index way = bytes.below(8);
  if (way < 4)
    fuzz::online<OnlineModel>(bytes);
  else if (way == 4)
    fuzz::online<LiteralModel>(bytes);
  else if (way == 5)
    fuzz::temporal_differences(bytes);
  else
    fuzz::batch(bytes);
  return 0;
}
