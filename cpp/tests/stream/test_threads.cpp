// What several threads do at once: the answers, and something for ThreadSanitizer to watch.
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "core/base/parallel.hpp"
#include "core/kernel/kernel_columns.hpp"
#include "core/linalg/orthogonal_basis.hpp"
#include "core/stream/model_mutex.hpp"
#include "core/stream/online_model.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;
using Model = OnlineModel;

constexpr int kThreads[] = {1, 2, 5};

Kernel rbf(Index d) { return Kernel(KernelKind::rbf, Vector::Constant(d, 0.5), 3, 1.0, Vector::Zero(d)); }

// Rows whose targets move on, so that no two prefixes answer alike.
struct Stream {
  explicit Stream(Index n)
      : X(check::normal_rows(n, 2, 61)), Y(n, 1), v(Vector::Ones(n)), apriori(n, 1), outcome(n), victim(n) {
    for (Index i = 0; i < n; ++i) Y(i, 0) = std::sin(2 * X(i, 0)) + static_cast<double>(i) / 100;
  }
  void learn(Model& model, Index first, Index count, Index threads = 1) {
    model.learn(X.middleRows(first, count), Y.middleRows(first, count), v.segment(first, count),
                {apriori.middleRows(first, count), {outcome.data() + first, victim.data() + first}, false, threads});
  }
  RowMatrix X, Y;
  Vector v;
  RowMatrix apriori;
  std::vector<std::uint8_t> outcome;
  std::vector<std::int64_t> victim;
};

Model model_of(Index max_basis, Index swap_until = 0) {
  OnlineSettings settings{0.01, {Rule::novelty, 1e-3, 1e-4}, max_basis, true};
  settings.swap_until = swap_until;
  return Model(rbf(2), 1, settings);
}

Matrix answers(Model& model, const Rows& X, Index threads = 1) {
  model.settle();
  RowMatrix out(X.rows(), 1);
  model.predict(X, out, threads);
  return out;
}

}  // namespace

TEST(every_task_is_done_once_whoever_does_it) {
  for (const int threads : kThreads) {
    std::vector<int> done(1000, 0);  // plain: no two threads may have one task
    parallel_for(1000, threads, [&](Index task) { ++done[static_cast<std::size_t>(task)]; });
    CHECK(done == std::vector<int>(1000, 1));
  }
}

TEST(a_frozen_stream_and_a_second_pass_are_the_same_bits_on_any_number_of_threads) {
  const Index n = 3 * 2048 + 500;  // parts are of 2048 rows
  Matrix frozen, second;
  for (const int threads : kThreads) {
    Stream stream(n);
    Model model = model_of(8, 50);
    stream.learn(model, 0, 100, threads);
    stream.learn(model, 100, n - 100, threads);
    CHECK(stream.outcome.back() == static_cast<std::uint8_t>(Outcome::frozen));
    const Matrix now = answers(model, stream.X.topRows(20), threads);
    CHECK(threads == 1 || now == frozen);
    frozen = now;
    model.begin_refit();
    stream.learn(model, 0, n, threads);
    model.end_refit();
    const Matrix then = answers(model, stream.X.topRows(20), threads);
    CHECK(threads == 1 || then == second);
    second = then;
  }
  CHECK(frozen != second);
}

TEST(predictions_and_variances_are_the_same_bits_on_any_number_of_threads) {
  const Index n = 200;
  Stream stream(n);
  Model model = model_of(60);
  stream.learn(model, 0, n);
  model.settle();
  const Index rows = 70'000;  // a part is work for a millisecond: 16,000 rows of 60 kernels
  const RowMatrix X = check::normal_rows(rows, 2, 62);
  RowMatrix out[3], variance[3];
  for (int i = 0; i < 3; ++i) {
    out[i].resize(rows, 1);
    variance[i].resize(rows, 1);
    model.predict(X, out[i], kThreads[i]);
    model.variance(X, variance[i], kThreads[i]);
    CHECK(out[i] == out[0] && variance[i] == variance[0]);
  }
}

TEST(columns_and_their_decomposition_are_the_same_bits_on_any_number_of_threads) {
  const Index n = 70'000, columns = 16;  // from a million values on the work is shared out
  const RowMatrix X = check::normal_rows(n, 2, 63);
  const Vector ones = Vector::Ones(n);
  const RowMatrix few = X.topRows(700);
  Matrix U, products;
  for (const int threads : kThreads) {
    KernelColumns kernels({rbf(2)}, X, ones, threads);
    OrthogonalBasis basis(X.col(0), threads);
    Matrix k(kernels.padded_rows(), columns);
    std::vector<Index> ids(columns);
    for (Index i = 0; i < columns; ++i) ids[static_cast<std::size_t>(i)] = 997 * i;
    kernels.columns(ids, k);
    for (Index i = 0; i < columns; ++i) {
      Vector column = Vector::Zero(basis.padded_rows());
      column.head(n) = k.col(i).head(n);
      CHECK(basis.append(column));
    }
    basis.settle();
    CHECK(threads == 1 || Matrix(basis.U()) == U);
    U = basis.U();
    KernelColumns pairs({rbf(2)}, few, ones.head(700), threads, 1 << 20);
    Matrix sums = Matrix::Zero(700, 1);
    Vector norms = Vector::Zero(700);
    const Vector y = few.col(1);
    Vector padded = Vector::Zero(pairs.padded_rows());
    padded.head(700) = y;
    for (int twice = 0; twice < 2; ++twice) pairs.products(0, padded, sums, &norms);
    CHECK(threads == 1 || sums == products);
    products = sums;
  }
}

// As the binding does: each call takes the model's lock, reading brings the model up to date.
TEST(who_reads_while_another_thread_learns_sees_the_model_between_two_calls) {
  const Index n = 1200, block = 30;
  Stream stream(n);
  const RowMatrix at = stream.X.topRows(5);
  std::vector<Matrix> moments;
  Model steps = model_of(12);
  for (Index i = 0; i < n; i += block) {
    stream.learn(steps, i, block);
    moments.push_back(answers(steps, at));
  }

  Model model = model_of(12);
  ModelMutex mutex;
  stream.learn(model, 0, block);
  std::atomic<bool> over{false};
  std::atomic<int> torn{0};
  const auto read = [&] {
    std::size_t last = 0;
    for (bool once_more = true; once_more;) {
      once_more = !over;
      Matrix answer;
      {
        const std::lock_guard<ModelMutex> lock(mutex);
        answer = answers(model, at, 2);
      }
      // reading in between changes the rounding; two moments are apart by thousandths
      std::size_t moment = last;
      while (moment < moments.size() && (moments[moment] - answer).cwiseAbs().maxCoeff() > 1e-8) ++moment;
      if (moment == moments.size()) ++torn;  // no moment, or one that was over
      last = moment == moments.size() ? last : moment;
      std::this_thread::yield();
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  for (Index i = block; i < n; i += block) {
    {
      const std::lock_guard<ModelMutex> lock(mutex);
      stream.learn(model, i, block);
    }
    std::this_thread::yield();
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(torn == 0);
  CHECK((answers(model, at) - moments.back()).cwiseAbs().maxCoeff() < 1e-8);
}
