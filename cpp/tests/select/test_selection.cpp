// Choosing a basis and fitting on it: the parts of feature_vectors, pivots, subset and the pruning path.
#include <Eigen/Cholesky>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <thread>

#include "core/base/interrupt.hpp"
#include "core/batch/subset.hpp"
#include "core/linalg/blocked_triangles.hpp"
#include "core/linalg/pivoted_cholesky.hpp"
#include "core/select/feature_vectors.hpp"
#include "core/select/pivoted_selection.hpp"
#include "core/select/pruning_path.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

Kernel make(Index d, KernelKind kind = KernelKind::rbf) {
  return Kernel(kind, Vector::Constant(d, 0.4), 3, 1.0, Vector::Zero(d));
}

std::vector<Index> all(Index n) {
  std::vector<Index> which(n);
  std::iota(which.begin(), which.end(), Index{0});
  return which;
}

Matrix dense(const Kernel& kernel, const RowMatrix& A, const RowMatrix& B) {
  PreparedRows a, b;
  kernel.prepare(A, a);
  kernel.prepare(B, b);
  const Panels elements = elements_of(kernel, a);
  Matrix K(elements.padded(), B.rows());
  kernel.block(elements, b, 0, B.rows(), K);
  return K.topRows(A.rows());
}

RowMatrix taken(const RowMatrix& X, const std::vector<Index>& which) {
  RowMatrix out(static_cast<Index>(which.size()), X.cols());
  for (Index i = 0; i < out.rows(); ++i) out.row(i) = X.row(which[i]);
  return out;
}

std::vector<const double*> columns(const Matrix& W) {
  std::vector<const double*> out;
  for (Index c = 0; c < W.cols(); ++c) out.push_back(W.col(c).data());
  return out;
}

double off(const Matrix& a, const Matrix& b) { return (a - b).cwiseAbs().maxCoeff(); }

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

// Eigen asserts on any allocation of its own while one of these lives.
struct NoMalloc {
  NoMalloc() { Eigen::internal::set_is_malloc_allowed(false); }
  ~NoMalloc() { Eigen::internal::set_is_malloc_allowed(true); }
};

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

TEST(panel_products_are_products_whatever_the_sizes) {
  for (const Index n : {1, 7, 8, 31, 33, 59})
    for (const Index k : {0, 1, 13})
      for (const Index c : {1, 2, 3, 4, 5, 6, 13}) {
        const Matrix A = check::normal_rows(n, k, 41), X = check::normal_rows(k, c, 42);
        PanelMatrix panels;
        panels.reset(n, k);
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < k; ++j) panels(i, j) = A(i, j);
        Matrix out = Matrix::Ones(panels.padded_rows(), c);
        panels.add_product(n, columns(X).data(), out);
        const Matrix expected = (A * X).array() + 1.0;
        CHECK(off(out.topRows(n), expected) < 1e-13);  // at most 13 terms of order one
        CHECK((out.bottomRows(out.rows() - n).array() == 1.0).all());
      }
}

TEST(a_panel_of_the_factor_gives_the_coordinates_without_allocation) {
  const Index before = 17, size = 29, c = 23;
  Matrix L = Matrix::Zero(before + size, before + size);
  L.triangularView<Eigen::Lower>() = Matrix(0.3 * check::normal_rows(before + size, before + size, 43));
  L.diagonal().setConstant(2.0);
  const Matrix K = check::normal_rows(before + size, c, 44), W = L.triangularView<Eigen::Lower>().solve(K);
  PanelFactor factor;
  factor.begin(before + 3);  // grown once: from here on nothing is allocated
  Matrix out = Matrix::Zero(PanelFactor::kSteps, c);
  out.topRows(size) = K.bottomRows(size);
  const Matrix known = W.topRows(before);
  const auto at = columns(known);
  std::vector<Vector> rows;
  for (Index i = 0; i < size; ++i) rows.emplace_back(L.row(before + i).head(before + i).transpose());
  {
    const NoMalloc guard;
    factor.begin(before);
    for (Index i = 0; i < size; ++i) factor.append(rows[i], L(before + i, before + i));
    factor.coordinates(at.data(), out);
  }
  CHECK(factor.size() == size && factor.padded() == 32);
  CHECK(off(out.topRows(size), W.bottomRows(size)) < 1e-12 * W.cwiseAbs().maxCoeff());
}

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
    for (const PivotedBasis& p : {one_pass(patterns, n), greedy_pivots(patterns, 1e-8, n),
                            random_pivots(patterns, v, 1e-8, n, 40, 3)}) {
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

TEST(sums_over_rows_are_the_products_of_explicit_coordinates) {
  const Index n = 300, m = 21;  // more than a tile of rows
  const RowMatrix X = check::normal_rows(n, 3, 50), Y = check::normal_rows(n, 2, 51);
  const Vector v = check::normal_rows(n, 1, 52).cwiseAbs(), offset = Vector::Constant(2, 0.5);
  const Kernel kernel = make(3);
  const RowMatrix S = X.topRows(m);
  PreparedRows rows;
  kernel.prepare(S, rows);
  const Eigen::LLT<Matrix> factor(dense(kernel, S, S));
  const Matrix L = factor.matrixL(), K = dense(kernel, S, X), W = factor.matrixL().solve(K);
  const Matrix t = Y.rowwise() - offset.transpose();
  for (const bool white : {false, true}) {
    Matrix where(m, m);
    NormalSums sums(where, 2);
    accumulate(kernel, elements_of(kernel, rows), white ? L : Matrix(), X, Y, v, offset, 1, sums);
    const Matrix& U = white ? W : K;
    const Matrix M = sums.M.selfadjointView<Eigen::Lower>(), expected = U * v.asDiagonal() * U.transpose();
    CHECK(off(M, expected) < 1e-13 * n);
    CHECK(off(sums.z, U * v.asDiagonal() * t) < 1e-13 * n && off(sums.s, U * v) < 1e-13 * n);
    CHECK(std::abs(sums.weight - v.sum()) < 1e-13 * n);
    if (white) continue;
    whiten(L, 1, sums);  // as if they had been taken in orthonormal coordinates, up to the condition of K
    const Matrix white_M = sums.M.selfadjointView<Eigen::Lower>();
    CHECK(off(white_M, W * v.asDiagonal() * W.transpose()) < 1e-15 * whitening_growth(L) * n);
  }
}

TEST(elements_are_deleted_by_what_they_cost) {
  const Index n = 130, m = 100;  // more than one block of the inverse triangle
  const RowMatrix X = check::normal_rows(n, 6, 53);
  const Kernel kernel = make(6);
  const Matrix K_mm = dense(kernel, X.topRows(m), X.topRows(m)), K = dense(kernel, X.topRows(m), X);
  const Matrix y = X.col(0).array().sin();
  const double alpha = 0.1;
  const auto cost = [&](const std::vector<Index>& S) {  // of the best fit on S
    const Index size = static_cast<Index>(S.size());
    Matrix P(size, size), z(size, 1);
    const Matrix G = K * K.transpose(), f = K * y;
    for (Index i = 0; i < size; ++i) {
      z(i, 0) = f(S[i], 0);
      for (Index j = 0; j < size; ++j) P(i, j) = G(S[i], S[j]) + alpha * K_mm(S[i], S[j]);
    }
    return -(z.transpose() * P.ldlt().solve(z))(0, 0);
  };
  Matrix G = K * K.transpose(), k = K_mm;
  const auto order = deletion_order(G, k, K * y, alpha, m - 3, 1e-9);  // one at a time
  std::vector<Index> alive = all(m);
  for (Index step = 0; step < 3; ++step) {
    double least = 1e300;
    Index worst = -1;
    for (const Index i : alive) {
      std::vector<Index> rest;
      std::copy_if(alive.begin(), alive.end(), std::back_inserter(rest), [&](Index j) { return j != i; });
      if (const double c = cost(rest); c < least) least = c, worst = i;
    }
    CHECK(order[step] == worst);
    alive.erase(std::find(alive.begin(), alive.end(), worst));
  }
  CHECK(std::vector<Index>(order.begin() + 3, order.end()) == alive);
  Matrix one = Matrix::Ones(1, 1), unit = Matrix::Ones(1, 1);
  CHECK(deletion_order(one, unit, Matrix::Ones(1, 1), alpha, 1, 0.1) == std::vector<Index>{0});
}

TEST(a_pruning_step_takes_at_least_one_and_hits_the_size_asked_for) {
  PruningOptions options;
  CHECK(pruning_step(options, 10) == 1);
  options.step = 0.25;
  CHECK(pruning_step(options, 100) == 25 && pruning_step(options, 2) == 1 && pruning_step(options, 3) == 1);
  options.must_hit = 90;
  CHECK(pruning_step(options, 100) == 10 && pruning_step(options, 90) == 22);
  options = {};
  options.step = 50;
  CHECK(pruning_step(options, 10) == 9);
}

TEST(the_least_useful_are_the_smallest_and_ties_fall_to_the_oldest) {
  Vector scores(6);
  scores << 3.0, 1.0 + 1e-12, 2.0, 1.0, 5.0, 1.0 + 1e-7;
  const std::vector<Index> ages{7, 1, 4, 2, 0, 3};
  CHECK((least_useful(scores, ages, 1) == std::vector<Index>{1}));  // tied with 3, and older
  CHECK((least_useful(scores, ages, 3) == std::vector<Index>{5, 3, 1}));
  CHECK((least_useful(scores, ages, 6).size() == 6));
}

TEST(scores_that_are_no_numbers_are_the_least_useful_and_sorting_them_ends) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Index> ages(40);
  std::iota(ages.begin(), ages.end(), Index{0});
  Vector scores = Vector::LinSpaced(40, 1.0, 40.0);
  for (Index i = 0; i < 40; i += 3) scores[i] = nan;
  for (const Index count : {1, 5, 14, 30}) {
    const std::vector<Index> found = least_useful(scores, ages, count);
    CHECK(static_cast<Index>(found.size()) == count);
    CHECK(std::set<Index>(found.begin(), found.end()).size() == found.size());
  }
  for (const Index i : least_useful(scores, ages, 14)) CHECK(i % 3 == 0);
  CHECK((least_useful(Vector::Constant(3, nan), {2, 0, 1}, 1) == std::vector<Index>{1}));
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
  CHECK(!efvs(X, SelectionForm::lazy, 20, 59).chosen.empty());  // nobody asks any more
}
