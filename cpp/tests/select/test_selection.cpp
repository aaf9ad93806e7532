// Choosing a basis: feature vectors and pivots, and the interruption of all that takes long.
#include <Eigen/Cholesky>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "core/base/interrupt.hpp"
#include "core/batch/deletion.hpp"
#include "core/linalg/blocked_triangles.hpp"
#include "core/linalg/pivoted_cholesky.hpp"
#include "core/select/feature_vectors.hpp"
#include "core/select/pivoted_selection.hpp"
#include "tests/check.hpp"
#include "tests/kernel_matrix.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;
using namespace check;

RowMatrix taken(const RowMatrix& X, const std::vector<Index>& which) {
  RowMatrix out(static_cast<Index>(which.size()), X.cols());
  for (Index i = 0; i < out.rows(); ++i) out.row(i) = X.row(which[i]);
  return out;
}

FeatureVectors efvs(const RowMatrix& X, SelectionForm form, Index n, Index sampled, double tol = 1e-8) {
  const Kernel kernel = make(X.cols());
  SelectableRows patterns(kernel, X, all(X.rows()));
  FeatureVectorSettings settings;
  settings.n_candidates = settings.n_eval = sampled;
  settings.max_basis = n;
  settings.candidate_tol = tol;
  settings.seed = 5;
  settings.form = form;
  return select_feature_vectors(patterns, Vector::Ones(X.rows()), settings);
}

constexpr SelectionForm kForms[] = {SelectionForm::dense, SelectionForm::cached, SelectionForm::lazy};

struct Stopped {};

// While it lives the first look at interrupt_hook stops. Waits until the thread may look again.
struct Stopper {
  Stopper() {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    interrupt_hook = [] { throw Stopped(); };
  }
  ~Stopper() { interrupt_hook = nullptr; }
};

template <class Work>
bool stops(Work&& work) {
  const Stopper stopper;
  try {
    work();
  } catch (const Stopped&) {
    return true;
  }
  return false;
}

}  // namespace

TEST(the_forms_choose_the_same_feature_vectors) {
  const RowMatrix X = check::normal_rows(150, 3, 45);
  const auto cached = efvs(X, SelectionForm::cached, 70, 20), lazy = efvs(X, SelectionForm::lazy, 70, 20);
  CHECK(cached.chosen.size() == 70 && cached.chosen == lazy.chosen);
  const auto exact = efvs(X, SelectionForm::dense, 40, 0);
  CHECK(exact.chosen == efvs(X, SelectionForm::cached, 40, 0).chosen);
  CHECK(exact.chosen == efvs(X, SelectionForm::lazy, 40, 0).chosen);
  // the error is what the definition gives for the rows chosen
  const Kernel kernel = make(3);
  const RowMatrix S = taken(X, cached.chosen);
  const Eigen::LLT<Matrix> factor(dense(kernel, S, S));
  const Matrix W = factor.matrixL().solve(dense(kernel, S, X));
  CHECK(std::abs(cached.error.back() - (1.0 - W.squaredNorm() / 150.0)) < 1e-10);
}

TEST(a_repeated_pattern_is_chosen_once) {
  RowMatrix X(60, 2);
  X << check::normal_rows(12, 2, 46), RowMatrix(48, 2);
  for (Index i = 12; i < 60; ++i) X.row(i) = X.row(i % 12);
  for (const SelectionForm form : kForms)
    for (const Index sampled : {0, 5}) {
      if (form == SelectionForm::dense && sampled > 0) continue;  // the dense form looks at all
      const auto result = efvs(X, form, 60, sampled);
      std::set<Index> distinct;
      for (const Index i : result.chosen) distinct.insert(i % 12);
      CHECK(distinct.size() == result.chosen.size());
      CHECK(result.chosen.size() == result.error.size() && result.chosen.size() <= 12);
    }
}

TEST(few_patterns_one_pattern_and_more_asked_for_than_there_are) {
  for (const SelectionForm form : kForms) {
    const auto few = efvs(check::normal_rows(5, 2, 47), form, 50, form == SelectionForm::dense ? 0 : 59, 0.0);
    CHECK(few.chosen.size() == 5 && few.error.back() < 1e-12);
    const auto one = efvs(check::normal_rows(1, 2, 48), form, 1, form == SelectionForm::dense ? 0 : 59);
    CHECK(one.chosen == std::vector<Index>{0} && one.error.size() == 1);
  }
  // the zero pattern of a linear kernel is in every span
  const Kernel linear = make(2, KernelKind::linear);
  const RowMatrix zero = RowMatrix::Zero(3, 2);
  for (const SelectionForm form : kForms) {
    SelectableRows patterns(linear, zero, all(3));
    FeatureVectorSettings settings;
    settings.max_basis = 2;
    settings.form = form;
    if (form == SelectionForm::dense) settings.n_candidates = settings.n_eval = 0;
    CHECK(select_feature_vectors(patterns, Vector::Ones(3), settings).chosen.empty());
  }
}

TEST(pivots_factor_the_kernel_matrix_of_what_they_chose) {
  const auto one_pass = [](SelectableRows& patterns, Index n) {
    RowMatrix L = RowMatrix::Zero(n, n);
    auto chosen = independent_rows(patterns, 1e-8, 1, L);
    const Index m = static_cast<Index>(chosen.size());
    return PivotedBasis{std::move(chosen), L.topLeftCorner(m, m)};
  };
  RowMatrix X(90, 3);
  X << check::normal_rows(80, 3, 49), RowMatrix(10, 3);
  for (Index i = 80; i < 90; ++i) X.row(i) = X.row(i - 80);  // ten rows come twice
  const Kernel kernel = make(3);
  SelectableRows patterns(kernel, X, all(90));
  const Vector v = Vector::Ones(90);
  for (const Index n : {1, 50, 200}) {  // 200: more than there are
    for (const PivotedBasis& p :
         {one_pass(patterns, n), greedy_pivots(patterns, 1e-8, n), random_pivots(patterns, v, 1e-8, n, 40, 3)}) {
      const RowMatrix S = taken(X, p.chosen);
      const Index m = S.rows();
      CHECK(m >= std::min<Index>(n, 40) && m <= std::min<Index>(n, 80));
      const Matrix L = p.L.triangularView<Eigen::Lower>();
      CHECK(off(L * L.transpose(), dense(kernel, S, S)) < 1e-13 * static_cast<double>(m));
      std::set<Index> distinct;
      for (const Index i : p.chosen) distinct.insert(i % 80);
      CHECK(static_cast<Index>(distinct.size()) == m);
    }
  }
  // greedy: its pivots fall
  const PivotedBasis greedy = greedy_pivots(patterns, 1e-8, 60);
  const Vector pivots = greedy.L.diagonal();
  for (Index i = 1; i < pivots.size(); ++i) CHECK(pivots[i] <= pivots[i - 1] * (1 + 1e-12));
}

TEST(greedy_pivots_are_those_of_the_whole_matrix) {
  const RowMatrix X = check::normal_rows(100, 5, 55);  // more than a block of either
  const Kernel kernel = make(5);
  SelectableRows patterns(kernel, X, all(100));
  Matrix A = dense(kernel, X, X);
  std::vector<Index> order;
  const Index rank = pivoted_cholesky(A, 1e-3, order);
  const PivotedBasis greedy = greedy_pivots(patterns, 1e-3, 100);
  order.resize(rank);
  CHECK(rank > 64 && greedy.chosen == order);
  const Matrix L = A.topLeftCorner(rank, rank).triangularView<Eigen::Lower>(),
               ours = greedy.L.triangularView<Eigen::Lower>();
  CHECK(off(L, ours) < 1e-12);
}

TEST(long_computations_can_be_stopped) {
  const RowMatrix X = check::normal_rows(200, 3, 54);
  const Kernel kernel = make(3);
  SelectableRows patterns(kernel, X, all(200));
  const Vector v = Vector::Ones(200);
  CHECK(stops([&] { efvs(X, SelectionForm::cached, 20, 59); }));
  CHECK(stops([&] { efvs(X, SelectionForm::lazy, 20, 59); }));
  CHECK(stops([&] { efvs(X, SelectionForm::dense, 20, 0); }));
  CHECK(stops([&] {
    RowMatrix L(20, 20);
    independent_rows(patterns, 1e-8, 1, L);
  }));
  CHECK(stops([&] {
    Matrix A = Matrix::Identity(5, 5);
    cholesky(A, 1);
  }));
  CHECK(stops([&] { greedy_pivots(patterns, 1e-8, 20); }));
  CHECK(stops([&] { random_pivots(patterns, v, 1e-8, 20, 8, 1); }));
  CHECK(stops([&] {
    Matrix G = Matrix::Identity(5, 5), K = G;
    deletion_order(G, K, Matrix::Ones(5, 1), 0.1, 1, 0.1);
  }));
  CHECK(!efvs(X, SelectionForm::lazy, 20, 59).chosen.empty());  // no callback is set any more
}
