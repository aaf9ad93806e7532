// The work whose instructions are counted: each piece a few milliseconds of one part of the core, on samples that are
// always the same.  work NAME runs one piece, work alone lists them, work NAME TIMES prints its CPU time over that of a
// reference loop, the least of so many runs of both in turn.  Only what happens inside `measured` counts.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <numeric>

#include "core/batch/deletion.hpp"
#include "core/batch/lssvm.hpp"
#include "core/batch/sls_path.hpp"
#include "core/batch/sparse_lssvm.hpp"
#include "core/batch/subset.hpp"
#include "core/batch/width_gradient.hpp"
#include "core/kernel/gram.hpp"
#include "core/linalg/blocked_triangles.hpp"
#include "core/select/feature_vectors.hpp"
#include "core/select/forward_selection.hpp"
#include "core/select/pivoted_selection.hpp"
#include "core/stream/literal_model.hpp"
#include "core/stream/lstd.hpp"
#include "core/stream/online_model.hpp"
#include "tests/random.hpp"

// Never inlined nor cloned: valgrind knows it by its name.
#ifdef __clang__
#define KERNSIFT_KEPT __attribute__((noinline))
#else
#define KERNSIFT_KEPT __attribute__((noipa))
#endif

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool timing = false;
double spent = 0;

extern "C" KERNSIFT_KEPT void measured(const std::function<void()>& work) {
  const double begin = timing ? cpu_seconds() : 0;
  work();
  if (timing) spent += cpu_seconds() - begin;
}

// Multiplications and additions in registers alone: some milliseconds of nothing but the processor's clock.
extern "C" KERNSIFT_KEPT double reference(double factor) {
  double sums[32] = {};
  for (int i = 0; i < 500000; ++i)
    for (int j = 0; j < 32; ++j) sums[j] = sums[j] * factor + 1.0;
  return std::accumulate(sums, sums + 32, 0.0);
}

namespace {

using namespace kernsift;

struct Table {
  RowMatrix X;
  Matrix y;  // one target: smooth in a few features, and a little noise
  Vector ones;
};

Table table(Index n, Index d, unsigned seed = 1) {
  Table t{check::normal_rows(n, d, seed), check::normal_rows(n, 1, seed + 100) * 0.1, Vector::Ones(n)};
  t.y.col(0).array() += (2.0 * t.X.col(0).array()).sin() + 0.5 * t.X.col(1).array() * t.X.col(2).array();
  return t;
}

Kernel kernel_of(Index d, KernelKind kind = KernelKind::rbf) {
  return Kernel(kind, Vector::Constant(d, 1.0 / static_cast<double>(d)), 3, 1.0, Vector::Zero(d));
}

std::vector<Index> all(Index n) {
  std::vector<Index> which(static_cast<std::size_t>(n));
  std::iota(which.begin(), which.end(), Index{0});
  return which;
}

Matrix factor_of(const Kernel& kernel, const Rows& X) {
  PreparedRows rows;
  kernel.prepare(X, rows);
  Matrix K;
  gram_lower(kernel, rows, K);
  const Index m = X.rows();
  Matrix L = K.topLeftCorner(m, m).triangularView<Eigen::Lower>();
  L.diagonal().array() += 1e-10;
  return Eigen::LLT<Matrix>(L).matrixL();
}

template <KernelKind kind>
void block() {
  const Table t = table(512, 20);
  const Kernel kernel = kernel_of(20, kind);
  PreparedRows rows;
  kernel.prepare(t.X, rows);
  const Panels elements = panels_of(rows, 0, 200, 20);
  Matrix out(elements.padded(), 512);
  measured([&] { kernel.block(elements, rows, 0, 512, out); });
}

void expand() {
  const Table t = table(2000, 20);
  const Kernel kernel = kernel_of(20);
  PreparedRows rows;
  kernel.prepare(t.X.topRows(200), rows);
  const Panels elements = panels_of(rows, 0, 200, 20);
  const Matrix coef = check::normal_rows(elements.padded(), 1, 7);
  RowMatrix out(2000, 1);
  measured([&] {
    PreparedRows some;
    kernel.prepare(t.X, some);
    kernel.expand(elements, coef, Vector::Zero(1), some, 0, 2000, out);
  });
}

template <bool white>
void sums() {
  const Table t = table(1024, 20);
  const Kernel kernel = kernel_of(20);
  const Index m = 200;
  PreparedRows rows;
  kernel.prepare(t.X.topRows(m), rows);
  const RowMatrix L = white ? RowMatrix(factor_of(kernel, t.X.topRows(m))) : RowMatrix();
  Matrix where(m, m);
  NormalSums into(where, 1);
  const Panels elements = elements_of(kernel, rows);
  const RowMatrix Y = t.y;
  measured([&] { accumulate(kernel, elements, L, t.X, Y, t.ones, Vector::Zero(1), 1, into); });
}

void solve() {
  const Matrix A = check::normal_rows(300, 300, 3);
  const Matrix M = A * A.transpose();
  Matrix R = M;
  const Vector s = A.col(0), one = Vector::Ones(1);
  RidgeProblem problem({R, s, s, one, one, one, 300.0, 300.0, 0.0}, true, 1);
  measured([&] { problem.factor_into(R, 0.1); });
}

void whitening() {
  const Table t = table(300, 20);
  const RowMatrix L = factor_of(kernel_of(20), t.X);
  const Matrix A = check::normal_rows(300, 300, 3);
  Matrix M = A * A.transpose();
  measured([&] { congruence(L, 1, M); });
}

void eigen() {
  const Matrix A = check::normal_rows(120, 120, 3);
  const Matrix M = A * A.transpose(), z = check::normal_rows(120, 2, 4);
  const Vector s = Vector::Zero(120), y = Vector::Ones(2);
  RidgeProblem problem({M, z, s, y, y, y, 120.0, 120.0, 0.0}, false, 1);
  measured([&] { problem.projected(); });
}

void deletion() {
  const Table t = table(200, 10);
  const Kernel kernel = kernel_of(10);
  const Matrix L = factor_of(kernel, t.X);
  Matrix K = L * L.transpose();
  Matrix G = K * K;
  const Matrix z = K * t.y;
  measured([&] { deletion_order(G, K, z, 0.1, 100, 0.05); });
}

template <class Model>
void learn(const OnlineSettings& settings, Index n, Index d, Index warm, bool repeats = false) {
  Table t = table(n, d);
  if (repeats)  // neighbourhoods seen already
    for (Index i = warm; i < n; ++i) t.X.row(i) = t.X.row(i % warm) + 1e-3 * t.X.row(i);
  const RowMatrix Y = t.y;
  Model model(kernel_of(d), 1, settings);
  RowMatrix apriori(n, 1);
  std::vector<std::uint8_t> outcome(static_cast<std::size_t>(n));
  std::vector<std::int64_t> victim(static_cast<std::size_t>(n));
  const auto some = [&](Index first, Index count) {
    model.learn(t.X.middleRows(first, count), Y.middleRows(first, count), t.ones.segment(first, count),
                {apriori.middleRows(first, count), {outcome.data() + first, victim.data() + first}, false, 1});
  };
  if (warm > 0) some(0, warm);
  measured([&] {
    some(warm, n - warm);
    model.settle();
  });
}

constexpr Admission kProduct{Rule::product, 1e-2, 1e-4}, kNovelty{Rule::novelty, 1e-2, 0};

void stream() { learn<OnlineModel>({0.1, kProduct, 60, true, 0, 200}, 1200, 8, 0); }
void stream_papers() { learn<OnlineModel>({0.1, kProduct, 80, false}, 1500, 8, 0); }
void stream_inverse() { learn<LiteralModel>({0.1, kProduct, 80, false}, 800, 8, 0); }
void stream_quiet() { learn<OnlineModel>({1.0, kNovelty, 0, false}, 3000, 20, 150, true); }

void rows() {
  const Index n = 600, d = 10;
  const Table t = table(n, d);
  OnlineModel model(kernel_of(d), 1, {0.1, kProduct, 60, true});
  const Vector one = Vector::Ones(1);
  Vector out(1);
  measured([&] {
    for (Index i = 0; i < n; ++i) {
      model.predict_one(t.X.row(i).transpose(), out);
      model.update(t.X.row(i).transpose(), t.y.row(i).transpose(), 1.0);
    }
  });
}

void predict() {
  const Table t = table(1500, 10);
  const RowMatrix Y = t.y;
  OnlineModel model(kernel_of(10), 1, {0.1, kNovelty, 100, true});
  RowMatrix apriori(300, 1), out(1500, 1);
  std::vector<std::uint8_t> outcome(300);
  std::vector<std::int64_t> victim(300);
  model.learn(t.X.topRows(300), Y.topRows(300), t.ones.head(300), {apriori, {outcome.data(), victim.data()}});
  model.settle();
  RowMatrix variance(1500, 1);
  measured([&] {
    model.predict(t.X, out);
    model.variance(t.X, variance);
  });
}

template <SelectionForm form>
void efvs() {
  const Table t = table(2000, 10);
  const Kernel kernel = kernel_of(10);
  SelectableRows patterns(kernel, t.X, all(2000));
  FeatureVectorSettings settings;
  settings.max_basis = 80;
  settings.candidate_tol = 1e-8;
  settings.seed = 5;
  settings.form = form;
  measured([&] { select_feature_vectors(patterns, t.ones, settings); });
}

template <int which>
void pivoting() {
  const Table t = table(2000, 10);
  const Kernel kernel = kernel_of(10);
  SelectableRows patterns(kernel, t.X, all(2000));
  RowMatrix L(80, 80);
  measured([&] {
    if (which == 0) independent_rows(patterns, 1e-3, 1, L);
    if (which == 1) greedy_pivots(patterns, 1e-8, 80);
    if (which == 2) random_pivots(patterns, t.ones, 1e-8, 80, 40, 3);
  });
}

void forward(Criterion criterion, Index candidates, Index n) {
  const Table t = table(n, 10);
  KernelColumns columns({kernel_of(10)}, t.X, t.ones, 1);
  SelectionSettings settings;
  settings.criterion = criterion;
  settings.n_candidates = candidates;
  settings.stop = StopRule::none;
  settings.max_basis = 40;
  ForwardSelection selection(columns, t.y, t.ones, all(n), settings);
  measured([&] {
    while (selection.step()) {
    }
    selection.model();
  });
}
void orols() { forward(Criterion::residual, 0, 2000); }
void ols() { forward(Criterion::error_reduction, 0, 500); }
void ols59() { forward(Criterion::error_reduction, 59, 1000); }

void dense() {
  const Table t = table(300, 10);
  const RowMatrix Y = t.y;
  DenseSolution out;
  measured([&] {
    solve_dense(kernel_of(10), t.X, Y, t.ones, 0.1, true, out);
    dense_slack(out.factor.topRows(300), t.ones, 0.1, true);
  });
}

void isls() {
  const Table t = table(400, 10);
  const RowMatrix Y = t.y;
  measured([&] {
    const SparseBasis basis(kernel_of(10), t.X, all(120), true);
    SparseSolution start;
    solve_sparse(basis, Y, t.ones, 0.1, true, start);
    isls_path(basis, std::move(start), t.ones, t.ones, {});
  });
}

void sls() {
  const Table t = table(150, 10);
  const RowMatrix Y = t.y;
  PruningPath path;
  measured([&] { sls_path(kernel_of(10), t.X, Y, t.ones, t.ones, 0.1, true, {}, path); });
}

void widths() {
  const Table t = table(500, 8);
  const RowMatrix Y = t.y;
  WidthProblem problem(KernelKind::rbf, t.X, t.X.topRows(60), Y, t.ones, Vector::Zero(500), true, 1e-10);
  measured([&] { problem.evaluate(Vector::Constant(8, 0.1), 0.1, WidthCriterion::loo, 1.0, true, false); });
}

void lstd() {
  const Index n = 600;
  const Table t = table(n + 1, 6);
  std::unique_ptr<bool[]> flags(new bool[n]()), learned(new bool[n]());
  std::vector<std::uint8_t> outcome(2 * n);
  std::vector<std::int64_t> victim(2 * n);
  KernelLSTD model(kernel_of(6), {0.01, 0.9, 0.5, {Rule::novelty, 1e-3, 0.0}, 50, false});
  measured([&] {
    model.learn(t.X.topRows(n), t.y.col(0).head(n), t.X.bottomRows(n), flags.get(), flags.get(),
                {{outcome.data(), victim.data()}, learned.get()});
  });
}

const struct {
  const char* name;
  void (*run)();
} kWork[] = {
    {"kernel_rbf", block<KernelKind::rbf>},
    {"kernel_laplacian", block<KernelKind::laplacian>},
    {"kernel_matern52", block<KernelKind::matern52>},
    {"kernel_polynomial", block<KernelKind::polynomial>},
    {"kernel_expand", expand},
    {"subset_sums", sums<false>},
    {"subset_sums_orthonormal", sums<true>},
    {"subset_whitening", whitening},
    {"subset_ridge", solve},
    {"subset_spectrum", eigen},
    {"subset_deletion", deletion},
    {"stream_default", stream},
    {"stream_papers", stream_papers},
    {"stream_inverse", stream_inverse},
    {"stream_quiet", stream_quiet},
    {"stream_rows", rows},
    {"stream_predict", predict},
    {"select_efvs_cached", efvs<SelectionForm::cached>},
    {"select_efvs_lazy", efvs<SelectionForm::lazy>},
    {"select_independent", pivoting<0>},
    {"select_greedy", pivoting<1>},
    {"select_rpcholesky", pivoting<2>},
    {"path_orols", orols},
    {"path_ols", ols},
    {"path_ols59", ols59},
    {"path_isls", isls},
    {"path_sls", sls},
    {"lssvm_dense", dense},
    {"widths_gradient", widths},
    {"lstd", lstd},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& piece : kWork) {
    if (argc < 2) {
      std::puts(piece.name);
    } else if (std::strcmp(argv[1], piece.name) == 0) {
      if (argc < 3) {
        piece.run();
        return 0;
      }
      timing = true;
      double least = 1e9, unit = 1e9;
      volatile double factor = 0.5;
      for (int left = std::atoi(argv[2]); left > 0; --left) {
        spent = 0;
        piece.run();
        least = std::min(least, spent);
        const double begin = cpu_seconds();
        factor = std::min(reference(factor), 0.5);
        unit = std::min(unit, cpu_seconds() - begin);
      }
      std::printf("%.4f\n", least / unit);
      return 0;
    }
  }
  return argc < 2 ? 0 : 2;
}
