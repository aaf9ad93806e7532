// Runs of rows that stay outside the dictionary: the posterior's normal step as matrix products, and C from C^-1
// afresh.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/limits.hpp"
#include "core/base/multiply.hpp"
#include "core/stream/posterior.hpp"

namespace kernsift {

namespace {
// The factor of a matrix that has no eigenvalues but positive ones. Where rounding has left nothing of the smallest
// (weights lie further apart than a double reaches), as much is added to all as makes them positive again: p times the
// largest element is enough.
Posterior::Factor definite_factor(Matrix M) {
  Posterior::Factor factor(M);
  const double unit = M.size() > 0 ? std::max(M.cwiseAbs().maxCoeff(), kSmallest) : 0.0;
  const double most = 1e2 * static_cast<double>(M.rows());
  for (double more = 1e-15; factor.info() != Eigen::Success && more < most; more *= 10) {
    M.diagonal().array() += more * unit;
    factor.compute(M);
  }
  return factor;
}
}  // namespace

// The innovations of n rows at once. With G = CW and V^-1 + W'G = RR' (Cholesky, so the order of the rows is kept):
// R_jj^2 is the Delta and R_jj e_j the a-priori residual of row j after the rows before it, where e = R^-1 (Y -
// W'theta).
//
// With fading between the rows the same holds of S in C = a (S + b I), where row j meets a_j and b_j: column j of G is
// (S + b_j I) w_j, its weight a_j v_j and its target y_j memory^(-j/2), and G, e turn out in units of a and theta at
// the end of the run.                                                                                     [BEYOND B8]
bool Posterior::learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori) {
  const Index p = dimension(), n = W.cols();
  if (run_.gain.rows() < p || run_.gain.cols() < n) run_.gain.resize(theta_.rows(), std::max(n, run_.gain.cols()));
  if (run_.innovation.rows() < n) {
    run_.innovation.resize(whole_packets(n), whole_packets(n));
    run_.residual.resize(whole_packets(n), n_outputs());
    run_.cost.resize(whole_packets(n), n_outputs());
    run_.scale.resize(whole_packets(n));
    run_.Delta.resize(whole_packets(n));
  }
  auto G = run_.gain.topLeftCorner(p, n);
  auto R = run_.innovation.topLeftCorner(n, n);
  auto e = run_.residual.topRows(n);
  const auto faded = [&](Index rows) { return std::pow(memory_, 0.5 * static_cast<double>(rows)); };  // theta
  C_.settle();
  C_.stored().apply_block(W, G);
  e = Y;
  FadingInverse::Frame frame = C_.frame();
  for (Index j = 0; j < n; ++j) {
    run_.scale[j] = frame.scale;
    if (!fades()) continue;
    G.col(j) += frame.shift * W.col(j);  // [BEYOND B8]
    e.row(j) /= faded(j);
    frame.fade(memory_, 1.0 / alpha_);
  }
  R.triangularView<Eigen::Lower>() = W.transpose() * G;
  R.diagonal().array() += (v.array() * run_.scale.head(n).array()).inverse();
  add_product(-1.0, W.transpose(), theta_.topRows(p), e);

  Eigen::LLT<Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>> factor(R);
  if (factor.info() != Eigen::Success) return false;
  const auto lower = R.triangularView<Eigen::Lower>();
  lower.solveInPlace(e);
  lower.transpose().solveInPlace<Eigen::OnTheRight>(G);  // G <- G R^-T, so that GG' is what C loses
  if (!RowScalars::bounded(frame.scale * G.squaredNorm(), most_of_trace(), e.squaredNorm())) return false;

  for (Index j = 0; j < n; ++j) {
    const double Delta = run_.scale[j] * R(j, j) * R(j, j), back = fades() ? faded(j) : 1.0;
    invariants::check_gain(Delta - 1.0 / v[j], v[j]);
    for (Index o = 0; o < n_outputs(); ++o) apriori(j, o) = Y(j, o) - back * R(j, j) * e(j, o);
    log_det_ += std::log(v[j] * Delta);
    run_.Delta[j] = Delta;
  }
  if (information_.kept) {
    Matrix weighted = W * v.cwiseSqrt().asDiagonal();
    information_.matrix.add_outer_block(weighted, 1.0);
  }
  if (fades()) {
    for (Index j = 0; j < n; ++j) {
      run_.cost.row(j) = xi_.transpose();
      xi_ = memory_ * xi_ + e.row(j).transpose().cwiseAbs2() / run_.scale[0];
    }
    theta_.topRows(p) *= faded(n);
    G *= std::sqrt(frame.scale);
    e *= faded(n) / std::sqrt(frame.scale);
  } else {
    for (Index j = 0; j < n; ++j) {
      run_.cost.row(j) = xi_.transpose();
      xi_ += e.row(j).transpose().cwiseAbs2();
    }
  }
  C_.lose_and_fade(G, frame);  // [JP 11]
  add_product(1.0, G, e, theta_.topRows(p));
  return true;
}

// C, updated row by row, is off by eps |C| or more in every direction, and its inverse by that times cond(C): eps
// cond(C), relative to the norm, as by the Cholesky factor here. What follows is sums, which lose nothing more.
bool Posterior::inform() {
  if (information_.kept) return true;
  constexpr double kLargestLoss = 1e-8;
  C_.settle();
  const Factor factor(C_.dense());
  if (factor.info() != Eigen::Success) return false;
  const Matrix inverse = factor.solve(Matrix::Identity(dimension(), dimension()));
  const double condition = C_.dense().norm() * inverse.norm();  // at least cond(C), and at most p times that
  if (!(std::numeric_limits<double>::epsilon() * condition <= kLargestLoss)) return false;
  information_.matrix.assign(inverse);
  information_.kept = true;
  return true;
}

// C^-1 beside C, at whatever loss.
void Posterior::invert_inverse() {
  if (information_.kept) return;
  C_.settle();
  const auto factor = definite_factor(C_.dense());
  information_.matrix.assign(factor.solve(Matrix::Identity(dimension(), dimension())));
  information_.kept = true;
}

void Posterior::begin_sums() {
  invert_inverse();
  information_.added.gradient = Matrix::Zero(dimension(), n_outputs());
  information_.added.cost = Vector::Zero(n_outputs());
  information_.accumulating = true;
}

Posterior::Sums Posterior::no_sums() const {
  const Index p = dimension();
  Sums sums;
  sums.information.assign(Matrix::Zero(p, p));
  sums.gradient = Matrix::Zero(p, n_outputs());
  sums.cost = Vector::Zero(n_outputs());
  return sums;
}

void Posterior::add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori,
                        Sums& sums) const {
  add_run(W, Y, v, apriori, sums, sums.information);
}

void Posterior::accumulate_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori) {
  if (!accumulating()) begin_sums();
  add_run(W, Y, v, apriori, information_.added, information_.matrix);
}

void Posterior::accumulate(const Sums& sums) {
  if (!accumulating()) begin_sums();
  information_.matrix.add(sums.information);
  information_.added.gradient += sums.gradient;
  information_.added.cost += sums.cost;
}

void Posterior::add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori, Sums& sums,
                        SymmetricInverse& information) const {
  const Index p = dimension(), n = W.cols();
  if (sums.weighted.rows() < p || sums.weighted.cols() < n)
    sums.weighted.resize(theta_.rows(), std::max(n, sums.weighted.cols()));
  if (sums.error.rows() < n) sums.error.resize(whole_packets(n), n_outputs());
  auto e = sums.error.topRows(n);
  auto weighted = sums.weighted.topLeftCorner(p, n);
  multiply(W.transpose(), theta_.topRows(p), apriori);
  e = Y - apriori;
  sums.cost += (e.array().square().colwise() * v.array()).colwise().sum().matrix().transpose();
  weighted.noalias() = W * v.cwiseSqrt().asDiagonal();
  information.add_outer_block(weighted, 1.0);
  for (Index o = 0; o < n_outputs(); ++o) e.col(o).array() *= v.array();
  add_product(1.0, W, e, sums.gradient);
}

// With f the sum over the accumulated rows of v w (y - w'theta) and M the information, theta moves by M^-1 f and the
// cost of the rows at the old theta falls by f'M^-1 f. Measured from the old theta, neither cancels while the model
// is stable.
std::optional<Posterior::Factor> Posterior::leave_information() {
  if (!accumulating()) return std::nullopt;
  information_.accumulating = false;
  Factor factor = definite_factor(information_.matrix.dense());
  const Matrix step = factor.solve(information_.added.gradient);
  theta_.topRows(dimension()) += step;
  xi_ += (information_.added.cost - step.cwiseProduct(information_.added.gradient).colwise().sum().transpose())
             .cwiseMax(0.0);
  invert(factor);
  return factor;
}

// C and log|C^-1| from the Cholesky factor of C^-1.
void Posterior::invert(const Factor& factor) {
  const Index p = dimension();
  log_det_ = 2.0 * factor.matrixLLT().diagonal().array().log().sum();
  Matrix inverse = Matrix::Identity(p, p);
  factor.matrixL().solveInPlace(inverse);  // R^-1, so that C = R^-T R^-1
  Matrix C = Matrix::Zero(p, p);
  C.selfadjointView<Eigen::Lower>().rankUpdate(inverse.transpose());
  C_.assign(C);
}

void Posterior::forget_all() {
  const Index p = dimension();
  C_.assign(Matrix::Identity(p, p) / alpha_);
  theta_.topRows(p).setZero();
  xi_.setZero();
  log_det_ = static_cast<double>(p) * std::log(alpha_);
  information_.kept = information_.accumulating = false;
}

void Posterior::restart() {
  const Index p = dimension();
  Matrix information = Matrix::Zero(p, p);
  information.diagonal().tail(penalised()).setConstant(alpha_);
  information_.matrix.assign(information);
  information_.kept = true;
  theta_.topRows(p).setZero();
  xi_.setZero();
  begin_sums();
}

// theta <- theta + C (Z V (y - Z'theta) - alpha D theta) leaves of the error of C^-1 Z V y what a product of the two
// errors is; twice is enough wherever the Cholesky factor exists.
Posterior::Factor Posterior::learn_only(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v) {
  constexpr int kRefinements = 2;
  const Index p = dimension(), m = penalised();
  RowMatrix error(Y.rows(), Y.cols());
  restart();
  accumulate_run(W, Y, v, error);
  Factor factor = *leave_information();
  drop_information();
  for (int pass = 0; pass <= kRefinements; ++pass) {
    error = Y;
    add_product(-1.0, W.transpose(), theta(), error);
    xi_ = (error.array().square().colwise() * v.array()).colwise().sum().transpose();
    xi_ += alpha_ * penalised_theta().colwise().squaredNorm().transpose();
    if (pass == kRefinements) break;
    error.array().colwise() *= v.array();
    Matrix gradient = product(W, error);
    gradient.bottomRows(m) -= alpha_ * penalised_theta();
    Matrix step(p, n_outputs());
    C_.apply_block(gradient, step);
    theta_.topRows(p) += step;
  }
  return factor;
}

// With M = C^-1 and z = M theta, what the rows alone say: M <- M + (alpha_new - alpha) I, z stays, and the minimum y'Vy
// - theta'z moves by the rest.
std::optional<Posterior::Factor> Posterior::change_ridge(double alpha) {
  const bool kept = information_.kept;
  invert_inverse();
  Matrix information = information_.matrix.dense();
  information.diagonal().tail(penalised()).array() += alpha - alpha_;
  std::optional<Factor> factor(information);
  if (factor->info() == Eigen::Success) {
    const Matrix moment = product(information_.matrix.dense(), theta());
    const Matrix moved = factor->solve(moment);
    xi_ = (xi_ + (theta() - moved).cwiseProduct(moment).colwise().sum().transpose()).cwiseMax(0.0);
    theta_.topRows(dimension()) = moved;
    information_.matrix.assign(information);
    invert(*factor);
    alpha_ = alpha;
  } else {
    factor.reset();
  }
  information_.kept = kept;  // a growing stream should not pay for it from now on
  return factor;
}

}  // namespace kernsift
