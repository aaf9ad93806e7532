#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/select/forward_selection.hpp"
#include "tests/check.hpp"
#include "tests/random.hpp"

namespace {

using namespace kernsift;

// Rows enough for several blocks of Q and a ragged last one.
constexpr Index kN = 2 * OrthogonalBasis::kRows + 37;

Vector padded(const OrthogonalBasis& basis, const Vector& k) {
  Vector out = Vector::Zero(basis.padded_rows());
  out.head(k.size()) = k;
  return out;
}

Matrix columns_of(const OrthogonalBasis& basis) {
  Matrix Q(basis.rows(), basis.size());
  Vector q(basis.padded_rows());
  for (Index j = 0; j < basis.size(); ++j) {
    basis.column(j, q);
    Q.col(j) = q.head(basis.rows());
  }
  return Q;
}

double off_diagonal(const Matrix& Q) {
  const Matrix N = Q * Q.colwise().norm().cwiseInverse().asDiagonal();
  return (N.transpose() * N - Matrix::Identity(Q.cols(), Q.cols())).cwiseAbs().maxCoeff();
}

double largest(const Matrix& A) { return A.cwiseAbs().maxCoeff(); }

// A small problem: rows, one kernel, a target.
struct Problem {
  RowMatrix X = check::normal_rows(40, 3, 51);
  Vector y = (2.0 * X.col(0)).array().sin().matrix() + 0.3 * check::normal_rows(40, 1, 52);
  Kernel kernel{KernelKind::rbf, Vector::Constant(3, 0.4), 3, 1.0, Vector::Zero(3)};
  Matrix K;

  Problem() : K(40, 40) {
    for (Index i = 0; i < 40; ++i)
      for (Index j = 0; j < 40; ++j) K(i, j) = std::exp(-0.4 * (X.row(i) - X.row(j)).squaredNorm());
  }
  Matrix design(const std::vector<Index>& chosen) const {
    Matrix D(40, 1 + static_cast<Index>(chosen.size()));
    D.col(0).setOnes();
    for (std::size_t j = 0; j < chosen.size(); ++j) D.col(1 + static_cast<Index>(j)) = K.col(chosen[j]);
    return D;
  }
  Vector residual(const std::vector<Index>& chosen) const {
    const Matrix D = design(chosen);
    return y - D * D.colPivHouseholderQr().solve(y);
  }
};

std::vector<Index> every_row(Index n) {
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

std::vector<Index> select(const Problem& p, Criterion criterion, Index n_candidates = 0) {
  const Vector ones = Vector::Ones(40);
  KernelColumns columns({p.kernel}, p.X, ones, 1);
  SelectionSettings settings;
  settings.criterion = criterion;
  settings.n_candidates = n_candidates;
  settings.reestimate = false;
  settings.stop = StopRule::none;
  settings.max_basis = 8;
  ForwardSelection selection(columns, p.y, ones, every_row(40), settings);
  while (selection.step()) {
  }
  return selection.chosen();
}

}  // namespace

TEST(columns_arrive_and_the_decomposition_is_theirs) {
  const Matrix K = check::normal_rows(kN, 9, 41), Y = check::normal_rows(kN, 2, 42);
  OrthogonalBasis basis(Y, 1);
  for (Index j = 0; j < K.cols(); ++j) CHECK(basis.append(padded(basis, K.col(j))));
  basis.settle();
  const Matrix Q = columns_of(basis), U = basis.U();
  const Vector h = basis.h();
  CHECK(largest(Q * U - K) < 1e-13 * largest(K));
  CHECK(off_diagonal(Q) < 1e-14);
  CHECK(largest(Q.colwise().squaredNorm().transpose() - h) < 1e-12 * h.maxCoeff());
  CHECK(largest(Q.transpose() * Y - Matrix(basis.f())) < 1e-12 * largest(Matrix(basis.f())));
  CHECK((U.diagonal().array() == 1.0).all());
  const Matrix fit = K.colPivHouseholderQr().solve(Y);
  CHECK(largest(basis.residual().topRows(kN) - (Y - K * fit)) < 1e-13 * largest(Y));
  CHECK(largest(basis.pseudoinverse() * Y - fit) < 1e-13 * largest(fit));
  CHECK(largest(basis.pseudoinverse() * K - Matrix::Identity(9, 9)) < 1e-13);
}

TEST(the_columns_are_orthogonal_at_condition_1e10) {
  // Columns of a common part and a small own one: by Gram-Schmidt once, cosines of 1e-16 * 1e10.
  const Matrix own = check::normal_rows(kN, 6, 43);
  const Vector common = check::normal_rows(kN, 1, 44);
  OrthogonalBasis basis(common, 1, 1e-24);
  for (Index j = 0; j < 6; ++j) CHECK(basis.append(padded(basis, common + 1e-10 * own.col(j))));
  basis.settle();
  CHECK(off_diagonal(columns_of(basis)) < 1e-14);
}

TEST(a_dependent_column_leaves_the_basis_as_it_was) {
  const Matrix K = check::normal_rows(kN, 4, 45);
  const Vector y = check::normal_rows(kN, 1, 46);
  OrthogonalBasis basis(y, 1);
  for (Index j = 0; j < 4; ++j) basis.append(padded(basis, K.col(j)));
  basis.settle();
  const Matrix before = columns_of(basis);
  const double left = basis.residual_norm2()[0];
  CHECK(!basis.append(padded(basis, K.col(1) - 2.0 * K.col(3))));
  CHECK(!basis.append(Vector::Zero(basis.padded_rows())));
  CHECK(basis.size() == 4);
  CHECK(columns_of(basis) == before);
  CHECK(std::abs(basis.residual_norm2()[0] - left) < 1e-13 * left);
}

TEST(a_read_that_forms_a_column_forms_combinations_too) {
  const Matrix K = check::normal_rows(kN, 5, 47), G = check::normal_rows(4, 2, 48);
  OrthogonalBasis basis(check::normal_rows(kN, 1, 49), 1);
  for (Index j = 0; j < 4; ++j) basis.append(padded(basis, K.col(j)));
  OrthogonalBasis::Projection p;
  Matrix combinations;
  const Matrix k = padded(basis, K.col(4));
  basis.project(k, p);
  CHECK(basis.append(k.col(0), p, 0, G, combinations));
  const Matrix expected = columns_of(basis).leftCols(4) * G;
  CHECK(largest(combinations.topRows(kN) - expected) < 1e-13 * largest(expected));
  CHECK(std::abs(p.distance2[0] - basis.h()[4]) < 1e-12 * p.norm2[0]);
}

TEST(error_reduction_takes_the_column_that_leaves_the_least) {
  const Problem p;
  const std::vector<Index> chosen = select(p, Criterion::error_reduction);
  CHECK(chosen.size() == 8);
  std::vector<Index> so_far;
  for (const Index picked : chosen) {
    std::vector<double> left(40);
    for (Index i = 0; i < 40; ++i) {
      std::vector<Index> with = so_far;
      with.push_back(i);
      left[static_cast<std::size_t>(i)] = p.residual(with).squaredNorm();
    }
    // no candidate leaves less, to the rounding of two ways of solving
    CHECK(left[static_cast<std::size_t>(picked)] <= *std::min_element(left.begin(), left.end()) * (1.0 + 1e-9));
    so_far.push_back(picked);
  }
}

TEST(as_many_random_candidates_as_rows_are_all_candidates) {
  const Problem p;
  const std::vector<Index> all = select(p, Criterion::error_reduction);
  CHECK(select(p, Criterion::error_reduction, 40) == all);
  CHECK(select(p, Criterion::error_reduction, 2) != all);
}

TEST(residual_takes_the_row_that_is_fitted_worst) {
  const Problem p;
  const std::vector<Index> chosen = select(p, Criterion::residual);
  CHECK(chosen.size() == 8);
  std::vector<Index> so_far;
  for (const Index picked : chosen) {
    Vector size = p.residual(so_far).cwiseAbs();
    for (const Index i : so_far) size[i] = 0.0;
    CHECK(size[picked] >= size.maxCoeff() * (1.0 - 1e-9));
    so_far.push_back(picked);
  }
}

TEST(a_thousand_dependent_candidates_end_the_selection) {
  // One feature and a wide kernel: a few columns span all 5000, and looking at each would take 5000 reads.
  const Index n = 5000;
  const RowMatrix X = check::normal_rows(n, 1, 53);
  const Vector y = check::normal_rows(n, 1, 54), ones = Vector::Ones(n);
  for (const Index n_candidates : {0, 59}) {
    KernelColumns columns({Kernel(KernelKind::rbf, Vector::Constant(1, 0.05), 3, 1.0, Vector::Zero(1))}, X, ones, 1);
    SelectionSettings settings;
    settings.criterion = n_candidates == 0 ? Criterion::residual : Criterion::error_reduction;
    settings.n_candidates = n_candidates;
    settings.stop = StopRule::none;
    settings.max_basis = 100;
    ForwardSelection selection(columns, y, ones, every_row(n), settings);
    while (selection.step()) {
    }
    CHECK(selection.ending() == Ending::exhausted);
    CHECK(selection.chosen().size() > 2 && selection.chosen().size() < 30);
    CHECK(selection.n_dependent() >= 1000);
    // those seen while columns were still found, a last draw of 59, and the thousand
    CHECK(selection.n_dependent() < 3000);
  }
}

TEST(columns_that_were_expected_are_projected_as_by_a_read_of_their_own) {
  const Index n = 3 * OrthogonalBasis::kRows + 11;
  const Matrix K = check::normal_rows(n, 12, 61), Y = check::normal_rows(n, 2, 62);
  OrthogonalBasis basis(Y, 1);
  OrthogonalBasis::Ahead ahead;
  ahead.K = Matrix::Zero(basis.padded_rows(), 4);
  ahead.K.topLeftCorner(n, 3) = K.rightCols(3);
  OrthogonalBasis::Projection p;
  Matrix none;
  const auto add = [&](const Vector& k) {
    basis.project(k, p);
    return basis.append(k, p, 0, Matrix(basis.size(), 0), none, &ahead);
  };
  for (Index j = 0; j < 8; ++j) {
    ahead.size = std::min<Index>(3, 1 + j / 2);  // they come one after the other
    CHECK(add(padded(basis, K.col(j))));
    CHECK(ahead.known == ahead.size);
    if (j == 5) {  // a dependent column changes nothing
      const Matrix before = ahead.p.s;
      CHECK(!add(padded(basis, K.col(1) - 2.0 * K.col(3))));
      CHECK(ahead.p.s == before);
    }
    OrthogonalBasis same = [&] {
      OrthogonalBasis again(Y, 1);
      for (Index i = 0; i <= j; ++i) again.append(padded(again, K.col(i)));
      return again;
    }();
    OrthogonalBasis::Projection own;
    same.project(ahead.K.leftCols(ahead.size), own);
    CHECK(largest(ahead.p.s - own.s) < 1e-13 * largest(own.s));
    CHECK(largest(ahead.p.f - own.f) < 1e-13 * largest(own.f));
    CHECK(largest(ahead.p.norm2 - own.norm2) < 1e-14 * largest(own.norm2));
    CHECK(largest(ahead.p.distance2 - own.distance2) < 1e-13 * largest(own.norm2));
  }
}

TEST(a_long_selection_by_residuals_takes_the_rows_that_are_fitted_worst) {
  // Beyond `kWorthwhile` values of Q columns are expected: each is still the row with the largest residual.
  const Index n = 12000, m = 120;
  const RowMatrix X = check::normal_rows(n, 6, 63);
  const Vector y = (2.0 * X.col(0)).array().sin().matrix() + 0.1 * check::normal_rows(n, 1, 64), ones = Vector::Ones(n);
  KernelColumns columns({Kernel(KernelKind::rbf, Vector::Constant(6, 0.2), 3, 1.0, Vector::Zero(6))}, X, ones, 1);
  SelectionSettings settings;
  settings.reestimate = false;
  settings.stop = StopRule::none;
  settings.max_basis = m;
  CHECK(n * m > ExpectedColumns::kWorthwhile);
  ForwardSelection selection(columns, y, ones, every_row(n), settings);
  Vector left;
  while (selection.step()) {
    if (selection.chosen().size() < 80) continue;
    OrthogonalBasis& basis = selection.basis();
    const std::vector<Index>& chosen = selection.chosen();
    if (left.size() > 0) {
      for (std::size_t j = 0; j + 1 < chosen.size(); ++j) left[chosen[j]] = 0.0;
      CHECK(std::abs(left[chosen.back()]) >= left.cwiseAbs().maxCoeff() * (1.0 - 1e-9));
    }
    // the residual without a ridge, the last column's share taken off
    Vector q(basis.padded_rows());
    basis.column(basis.size() - 1, q);
    left = basis.residual().col(0) - q * (basis.f()(basis.size() - 1, 0) / basis.h()[basis.size() - 1]);
  }
  CHECK(static_cast<Index>(selection.chosen().size()) == m);
  selection.model();
  CHECK(off_diagonal(columns_of(selection.basis())) < 1e-13);
}
