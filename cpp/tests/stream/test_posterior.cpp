// Several posteriors on one basis: each is what it would be with a basis of its own.
#include <cmath>
#include <vector>

#include "core/stream/basis.hpp"
#include "core/stream/posterior.hpp"
#include "core/stream/pruning_scores.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

constexpr Index kFeatures = 2, kRows = 300, kCap = 12;

Kernel rbf() { return Kernel(KernelKind::rbf, Vector::Constant(kFeatures, 0.5), 3, 1.0, Vector::Zero(kFeatures)); }

// A posterior, the scores that follow it, and its own view of the weights and targets of the stream.
struct Member {
  // A memory below 1 has a constant with a ridge in the place of the free one.
  Member(double alpha, Index n_outputs, double power, double memory = 1)
      : posterior(alpha, n_outputs, memory == 1, memory < 1 ? 1 : 0, memory), scores(n_outputs), power(power) {}
  double weight(double v) const { return std::pow(v, power); }
  void begin(const double* y, double v) {
    if (posterior.has_bias()) return posterior.seat_bias(y, weight(v));
    const Vector w = Vector::Ones(1);
    posterior.normal(w, posterior.look(w, 0.0, y, weight(v)));
    fade();
  }
  void fade() {
    posterior.fade();
    scores.fade(posterior);
  }
  Posterior posterior;
  PruningScores scores;
  double power;
};

struct Stream {
  Stream() : X(check::normal_rows(kRows, kFeatures, 91)), Y(kRows, 2), v(kRows) {
    Y.col(0) = (2.0 * X.col(0).array()).sin();
    Y.col(1) = X.col(1).array().square();
    for (Index i = 0; i < kRows; ++i) v[i] = 0.5 + static_cast<double>(i % 4);
  }
  RowMatrix X, Y;
  Vector v;
};

// What happens to the dictionary is fixed beforehand, so that a member meets the same with others and alone: rows at a
// distance of a tenth or more grow it, the oldest kernel leaves a full one, and every hundredth row begins a run.
Basis learn(const Stream& stream, std::vector<Member>& members) {
  Basis basis(rbf());
  PreparedRows rows;
  basis.kernel().prepare(stream.X, rows);
  Vector w(kCap + 32);
  for (Member& each : members) each.begin(stream.Y.row(0).data(), stream.v[0]);
  basis.seat_constant();
  for (Index i = 1; i < kRows; ++i) {
    if (i % 100 == 50) {  // a run of rows that stay outside
      const Index n = 20, p = basis.dimension();
      Matrix W(basis.offset() + basis.dictionary().padded(), n);
      basis.coordinates(rows, i, stream.X.middleRows(i, n), W);
      for (Member& each : members) {
        Vector weights = stream.v.segment(i, n);
        for (double& v : weights) v = each.weight(v);
        RowMatrix apriori(n, each.posterior.n_outputs());
        const RowMatrix Y = stream.Y.middleRows(i, n).leftCols(each.posterior.n_outputs());
        if (i < 100 || each.posterior.fades()) {
          CHECK(each.posterior.learn_run(W.topRows(p), Y, weights, apriori));
          each.scores.run(basis.span(), each.posterior, n);
        } else {
          each.posterior.accumulate_run(W.topRows(p), Y, weights, apriori);
          each.scores.renew(basis.span(), each.posterior, *each.posterior.leave_information());
        }
      }
      i += n - 1;
      continue;
    }
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> column(w.data(), basis.offset() + basis.dictionary().padded(), 1,
                                                       Eigen::OuterStride<>(w.size()));
    basis.coordinates(rows, i, stream.X.middleRows(i, 1), column);
    const auto at = w.head(basis.dimension());
    const double delta = std::max(0.0, basis.distance(at, 1.0));
    const bool grows = delta > 0.1;
    for (Member& each : members) {
      each.scores.begin_row();
      const RowScalars row = each.posterior.look(at, delta, stream.Y.row(i).data(), each.weight(stream.v[i]));
      if (grows) {
        each.scores.grow(basis.span(), each.posterior, at, row);
        each.posterior.grow(at, row);
      } else {
        each.posterior.normal(at, row);
        each.scores.normal(basis.span(), each.posterior, row);
      }
      each.fade();
    }
    if (!grows) continue;
    basis.append(stream.X.row(i).data(), rows, i, i, at, std::sqrt(delta));
    if (basis.size() == kCap)
      for (Member& each : members) each.scores.track(basis.span(), each.posterior);
    if (basis.size() <= kCap) continue;
    for (Member& each : members) each.scores.begin_removal(basis.span(), 0);
    basis.remove(0);
    for (Member& each : members) {
      CHECK(each.posterior.remove(basis.rotations()));
      each.scores.remove(basis.span(), basis.rotations(), each.posterior, 0, false);
    }
  }
  CHECK(basis.size() == kCap);
  for (Member& each : members) {
    each.posterior.settle();
    each.scores.settle(basis.span(), each.posterior);
  }
  return basis;
}

Arrays arrays_of(const Member& member) {
  Arrays arrays;
  member.posterior.save(arrays);
  member.scores.save(arrays, member.posterior.kernels());
  return arrays;
}

}  // namespace

TEST(posteriors_that_share_a_basis_are_bit_for_bit_those_that_have_it_alone) {
  const Stream stream;
  const auto members = [] {
    return std::vector<Member>{{0.1, 1, 1.0}, {1e-3, 2, 0.0}, {3.0, 1, 2.0}, {0.1, 2, 1.0, 0.99}, {0.1, 1, 0.0, 0.5}};
  };
  std::vector<Member> together = members();
  learn(stream, together);
  for (std::size_t i = 0; i < together.size(); ++i) {
    std::vector<Member> alone{members()[i]};
    learn(stream, alone);
    const Arrays ours = arrays_of(together[i]), theirs = arrays_of(alone[0]);
    for (const auto& [name, value] : theirs.items()) {
      const Matrix& other = ours.get(name);
      CHECK(other.rows() == value.rows() && other.cols() == value.cols() && other == value);
    }
    CHECK(ours.get("inverse").rows() == kCap + 1 && ours.get("diagonal").rows() == kCap);
  }
  CHECK(together[0].posterior.theta() != together[2].posterior.theta());
}

// The least squares problem of the rows a posterior has seen, where none of its kernels has left: dense, from its
// definition.
TEST(a_posterior_beside_others_solves_its_own_problem) {
  const Stream stream;
  Basis basis(rbf());
  PreparedRows rows;
  const Index n = 60, m = 5;
  basis.kernel().prepare(stream.X, rows);
  std::vector<Member> members{{0.1, 1, 1.0}, {2.0, 1, 0.0}};
  Vector w(kCap + 32);
  basis.seat_constant();
  for (Member& each : members) each.posterior.seat_bias(stream.Y.row(0).data(), each.weight(stream.v[0]));
  Matrix Z = Matrix::Zero(n, m + 1);  // coordinates of all rows: later directions are 0 for earlier rows
  Z(0, 0) = 1;
  for (Index i = 1; i < n; ++i) {
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> column(w.data(), basis.offset() + basis.dictionary().padded(), 1,
                                                       Eigen::OuterStride<>(w.size()));
    basis.coordinates(rows, i, stream.X.middleRows(i, 1), column);
    const Index p = basis.dimension();
    const auto at = w.head(p);
    const double delta = std::max(0.0, basis.distance(at, 1.0));
    const bool grows = delta > 0.1 && basis.size() < m;
    for (Member& each : members) {
      const RowScalars row = each.posterior.look(at, delta, stream.Y.row(i).data(), each.weight(stream.v[i]));
      grows ? each.posterior.grow(at, row) : each.posterior.normal(at, row);
    }
    Z.row(i).head(p) = at.transpose();
    if (!grows) continue;
    Z(i, p) = std::sqrt(delta);
    basis.append(stream.X.row(i).data(), rows, i, i, at, std::sqrt(delta));
  }
  CHECK(basis.size() == m);
  for (Member& each : members) {
    each.posterior.settle();
    Vector weights = stream.v.head(n);
    for (double& v : weights) v = each.weight(v);
    Matrix normal = Z.transpose() * weights.asDiagonal() * Z;
    normal.diagonal().tail(m).array() += each.posterior.alpha();
    const Eigen::LLT<Matrix> factor(normal);
    const Vector y = stream.Y.col(0).head(n), theta = factor.solve(Z.transpose() * weights.cwiseProduct(y));
    // two solutions of a problem of condition 1e3 at most
    CHECK((each.posterior.theta() - theta).norm() < 1e-12 * theta.norm());
    const Vector e = y - Z * theta;
    const double cost = e.dot(weights.cwiseProduct(e)) + each.posterior.alpha() * theta.tail(m).squaredNorm();
    CHECK(std::abs(each.posterior.cost()[0] - cost) < 1e-12 * cost);
    const double log_det = 2.0 * factor.matrixLLT().diagonal().array().log().sum();
    CHECK(std::abs(each.posterior.log_det() - log_det) < 1e-12 * std::abs(log_det));
  }
}

namespace {

// A posterior that fades, dense: C and theta with every step written out.
struct Dense {
  Dense(double alpha, double memory) : alpha(alpha), memory(memory), C(Matrix::Identity(1, 1) / alpha), theta(1) {
    theta.setZero();
  }
  void learn(const Vector& w, double y, double v) {
    const Vector h = C * w;
    const double Delta = 1.0 / v + w.dot(h), rho = y - w.dot(theta);
    C -= h * h.transpose() / Delta;
    theta += h * rho / Delta;
    cost = memory * cost + rho * rho / Delta;
  }
  void fade() {
    C *= memory;
    C.diagonal().array() += (1.0 - memory) / alpha;
    theta *= std::sqrt(memory);
  }
  void grow() {
    const Index p = theta.size();
    C.conservativeResize(p + 1, p + 1);
    C.row(p).setZero();
    C.col(p).setZero();
    C(p, p) = 1.0 / alpha;
    theta.conservativeResize(p + 1);
    theta[p] = 0.0;
  }
  // The last coordinate is 0.
  void drop() {
    const Index p = theta.size() - 1;
    const Vector c = C.col(p).head(p);
    const double corner = C(p, p), last = theta[p];
    theta = Vector(theta.head(p) - c * (last / corner));
    C = Matrix(C.topLeftCorner(p, p) - c * c.transpose() / corner);
    cost += last * last / corner;
  }
  double alpha, memory, cost = 0;
  Matrix C;
  Vector theta;
};

// Two ways to the same numbers: C is never off by more than eps times the prior, and the rest follows it.
void check_equal(Posterior& posterior, const Dense& dense) {
  posterior.settle();
  const Index p = dense.theta.size();
  CHECK(posterior.dimension() == p);
  Matrix C(p, p);
  for (Index i = 0; i < p; ++i) posterior.apply(Vector::Unit(p, i), C.col(i));
  CHECK((C - dense.C).cwiseAbs().maxCoeff() < 1e-12 / dense.alpha);
  CHECK((posterior.theta() - dense.theta).norm() < 1e-11 * (1.0 + dense.theta.norm()));
  CHECK(std::abs(posterior.cost()[0] - dense.cost) < 1e-11 * (1.0 + dense.cost));
}

constexpr double kMemories[] = {0.9995, 0.99, 0.9, 0.5};

}  // namespace

TEST(BEYOND_B7_a_posterior_that_fades_is_the_dense_one_with_every_step_written_out) {
  for (const double memory : kMemories) {
    const double alpha = 0.1;
    Posterior posterior(alpha, 1, false, 1, memory);
    Dense dense(alpha, memory);
    const RowMatrix rows = check::normal_rows(600, 12, 95);
    for (Index i = 0; i < rows.rows(); ++i) {
      const Index p = posterior.dimension();
      Vector w = rows.row(i).head(p).transpose();
      w[0] = 1.0;
      const double y = std::sin(rows(i, 1)) + 3.0, v = 0.5 + static_cast<double>(i % 3);
      const bool grows = i % 7 == 0 && p < 12;
      const double delta = 0.3;
      const RowScalars row = posterior.look(w, grows ? delta : 0.0, &y, v);
      if (grows) {
        dense.grow();
        Vector longer(p + 1);
        longer << w, std::sqrt(delta);
        dense.learn(longer, y, v);
        posterior.grow(w, row);
      } else {
        dense.learn(w, y, v);
        posterior.normal(w, row);
      }
      if (i % 50 == 49) {  // the last direction leaves as it is
        CHECK(posterior.remove(Rotations()));
        dense.drop();
      }
      posterior.fade();
      dense.fade();
      if (i % 20 == 0) check_equal(posterior, dense);
    }
    check_equal(posterior, dense);
  }
}

TEST(BEYOND_B8_a_run_of_rows_is_those_rows_each_followed_by_its_fading) {
  for (const double memory : kMemories)
    for (const Index n : {1, 4, 17, 64}) {
      const double alpha = 0.1;
      Posterior together(alpha, 1, false, 6, memory);
      Dense dense(alpha, memory);
      for (Index i = 1; i < 6; ++i) dense.grow();
      const RowMatrix rows = check::normal_rows(10 * n, 6, 96);
      for (Index first = 0; first < rows.rows(); first += n) {
        const Matrix W = rows.middleRows(first, n).transpose();
        RowMatrix Y(n, 1), apriori(n, 1);
        Vector v(n);
        for (Index j = 0; j < n; ++j) {
          Y(j, 0) = std::sin(rows(first + j, 1)) + 1.0;
          v[j] = 0.5 + static_cast<double>(j % 3);
        }
        CHECK(together.learn_run(W, Y, v, apriori));
        for (Index j = 0; j < n; ++j) {
          CHECK(std::abs(apriori(j, 0) - W.col(j).dot(dense.theta)) < 1e-11);
          dense.learn(W.col(j), Y(j, 0), v[j]);
          dense.fade();
        }
      }
      check_equal(together, dense);
    }
}

TEST(BEYOND_B7_pruning_scores_that_fade_are_those_of_the_state) {
  const Stream stream;
  std::vector<Member> members{{0.1, 2, 1.0, 0.99}, {0.1, 1, 0.0, 0.5}, {0.1, 1, 1.0}};
  const Basis basis = learn(stream, members);
  for (Member& each : members) {
    const Arrays arrays = arrays_of(each);
    const Matrix inverse = basis.span().inverse_factor();  // L^-1
    const Matrix P = inverse.transpose() * each.posterior.kernel_inverse() * inverse;
    const Matrix beta = inverse.transpose() * each.posterior.kernel_theta();
    CHECK((arrays.get("diagonal") - P.diagonal()).cwiseAbs().maxCoeff() < 1e-10 * P.diagonal().maxCoeff());
    CHECK((arrays.get("beta") - beta).cwiseAbs().maxCoeff() < 1e-10 * (1.0 + beta.cwiseAbs().maxCoeff()));
  }
}
