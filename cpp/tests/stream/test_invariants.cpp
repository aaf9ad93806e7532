// Where assertions are on, as in these tests, no row is learned on a state that cannot be: each invariant, by name.
#include <Eigen/LU>
#include <cmath>
#include <string>

#include "core/stream/literal_model.hpp"
#include "core/stream/online_model.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

constexpr Index kRows = 400, kMore = 20, kFeatures = 2;
constexpr double kAlpha = 1e-2;

template <class Model>
Model fresh() {
  return {Kernel(KernelKind::rbf, Vector::Constant(kFeatures, 0.5), 3, 1.0, Vector::Zero(kFeatures)),
          1,
          {kAlpha, {Rule::novelty, 0.05, 0.0}, 15, true}};
}

// What is thrown when `spoil` has been at the arrays of a trained model and rows of weight v come, in one block or one
// by one; empty where nothing is.
template <class Model, class Spoil>
std::string broken(const Spoil& spoil, double v, bool one_by_one) {
  const RowMatrix X = check::normal_rows(kRows + kMore, kFeatures, 51);
  const RowMatrix Y = X.col(0).array().sin();
  const Vector weights = Vector::Ones(kRows), later = Vector::Constant(kMore, v);
  RowMatrix apriori(kRows, 1);
  std::vector<std::uint8_t> outcome(kRows);
  std::vector<std::int64_t> victim(kRows);
  auto model = fresh<Model>();
  model.learn(X.topRows(kRows), Y.topRows(kRows), weights, {apriori, {outcome.data(), victim.data()}});
  model.settle();
  Arrays arrays = model.save();
  spoil(arrays);
  auto again = fresh<Model>();
  again.load(arrays);
  try {
    if (one_by_one)
      for (Index i = kRows; i < kRows + kMore; ++i) again.update(X.row(i).transpose(), Y.row(i).transpose(), v);
    else
      again.learn(X.bottomRows(kMore), Y.bottomRows(kMore), later,
                  {apriori.topRows(kMore), {outcome.data(), victim.data()}});
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

// Replaces an array by a function of it.
template <class Change>
auto spoil(const std::string& name, const Change& change) {
  return [=](Arrays& arrays) {
    Matrix value = arrays.get(name);
    change(value);
    arrays.put(name, value);
  };
}

bool names(const std::string& found, const std::string& invariant) {
  const bool named = found.rfind("invariant broken: " + invariant + ", found ", 0) == 0;
  if (!named) std::printf("  expected %s, got '%s'\n", invariant.c_str(), found.c_str());
  return named;
}

template <class Model, class Spoil>
void breaks(const Spoil& spoiled, const std::string& invariant, double v = 1.0) {
  for (const bool one_by_one : {false, true}) CHECK(names(broken<Model>(spoiled, v, one_by_one), invariant));
}

constexpr double kLight = 1e-9;  // a row too light to hide what was done

}  // namespace

TEST(a_sound_state_breaks_no_invariant) {
  for (const bool one_by_one : {false, true})
    for (const double v : {1.0, kLight}) {
      CHECK(broken<OnlineModel>([](Arrays&) {}, v, one_by_one).empty());
      CHECK(broken<LiteralModel>([](Arrays&) {}, v, one_by_one).empty());
    }
}

TEST(a_state_that_cannot_be_is_named) {
  using S = OnlineModel;
  breaks<S>(spoil("inverse", [](Matrix& C) { C(3, 3) = -1e-6; }), "C_ii > 0", kLight);
  breaks<S>(spoil("inverse", [](Matrix& C) { C(3, 3) = (1 + 2e-6) / kAlpha; }), "alpha C_ii <= 1", kLight);
  breaks<S>(spoil("inverse", [](Matrix& C) { C *= -1; }), "Delta >= 1/v");
  breaks<S>(spoil("factor", [](Matrix& L) { L *= 0.5; }), "delta >= -1e-12 k(x, x)");
  breaks<S>(spoil("cost", [](Matrix& xi) { xi *= -1; }), "xi >= 0", kLight);
  // rows whose residual is out of range are refused, and nothing breaks
  for (const bool one_by_one : {false, true})
    CHECK(broken<S>(spoil("theta", [](Matrix& theta) { theta *= 1e160; }), 1.0, one_by_one).empty());
}

TEST(so_is_one_of_the_explicit_engine) {
  using S = LiteralModel;
  breaks<S>(spoil("inverse", [](Matrix& P) { P(3, 3) = -1e-6; }), "C_ii > 0", kLight);
  breaks<S>(spoil("inverse", [](Matrix& P) { P *= -1; }), "Delta >= 1/v");
  breaks<S>(spoil("kernel_inverse", [](Matrix& K) { K(3, 3) = -1e-6; }), "C_ii > 0", kLight);
  breaks<S>(spoil("cost", [](Matrix& xi) { xi *= -1; }), "xi >= 0", kLight);
}

TEST(a_logarithm_that_overflowed_is_computed_afresh_and_is_the_largest_number_where_there_is_none) {
  const Index m = 4;
  const Matrix A = check::normal_rows(m, m, 52);
  const Matrix C = A * A.transpose() + Matrix::Identity(m, m);
  for (const double corner : {C(m - 1, m - 1), -1.0}) {
    Arrays arrays;
    Matrix inverse = C;
    inverse(m - 1, m - 1) = corner;
    arrays.put("inverse", inverse);
    arrays.put("theta", Matrix::Zero(m, 1));
    arrays.put("cost", 0.0);
    arrays.put("log_det", 0.0);
    arrays.put("information", Matrix(0, 0));
    Posterior posterior(1e-3, 1, false);
    posterior.load(arrays, m, true);
    const double y = 0.0;
    const Vector w = Vector::Unit(m, 0) * 1e-150;
    RowScalars row = posterior.look(w, 1.0, &y, 1.0);
    row.leverage = std::numeric_limits<double>::infinity();
    posterior.normal(w, row);
    posterior.settle();
    // the row is too small to change C
    const double expected = corner > 0 ? -std::log(C.determinant()) : std::numeric_limits<double>::max();
    CHECK(std::abs(posterior.log_det() - expected) <= 1e-12 * std::abs(expected));
  }
}
