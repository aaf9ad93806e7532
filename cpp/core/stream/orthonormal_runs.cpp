// Runs of rows that stay outside the dictionary: OrthonormalState's normal step as matrix products.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/limits.hpp"
#include "core/stream/orthonormal_state.hpp"

namespace kernsift {

namespace {
// The factor of a matrix that has no eigenvalues but positive ones. Where rounding has left nothing of the smallest (weights
// lie further apart than a double reaches), as much is added to all as makes them positive again: p times the largest
// element is enough.
Eigen::LLT<Matrix> definite_factor(Matrix M) {
  Eigen::LLT<Matrix> factor(M);
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
// R_jj^2 is the Delta and R_jj e_j the a-priori residual of row j after the rows before it, where e = R^-1 (Y - W'theta).
bool OrthonormalState::learn_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori) {
  const Index p = dimension(), m = size(), n = W.cols();
  if (gain_.rows() < p || gain_.cols() < n) gain_.resize(w_.size(), std::max(n, gain_.cols()));
  if (innovation_.rows() < n) {
    innovation_.resize(whole_packets(n), whole_packets(n));
    residual_.resize(whole_packets(n), n_outputs());
  }
  auto G = gain_.topLeftCorner(p, n);
  auto R = innovation_.topLeftCorner(n, n);
  auto e = residual_.topRows(n);
  C_.settle();
  C_.apply_block(W, G);
  R.triangularView<Eigen::Lower>() = W.transpose() * G;
  R.diagonal() += v.cwiseInverse();
  e = Y;
  e.noalias() -= W.transpose() * theta_.topRows(p);

  Eigen::LLT<Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>> factor(R);
  if (factor.info() != Eigen::Success) return false;
  const auto lower = R.triangularView<Eigen::Lower>();
  lower.solveInPlace(e);
  lower.transpose().solveInPlace<Eigen::OnTheRight>(G);  // G <- G R^-T, so that GG' is what C loses
  if (!RowScalars::bounded(G.squaredNorm(), most_of_trace(), e.squaredNorm())) return false;

  for (Index j = 0; j < n; ++j) {
    invariants::check_gain(R(j, j) * R(j, j) - 1.0 / v[j], v[j]);
    for (Index o = 0; o < n_outputs(); ++o) apriori(j, o) = Y(j, o) - R(j, j) * e(j, o);
    log_det_ += std::log(v[j] * R(j, j) * R(j, j));
  }
  if (informed_) {
    Matrix weighted = W * v.cwiseSqrt().asDiagonal();
    information_.add_outer_block(weighted, 1.0);
  }
  C_.add_outer_block(G, -1.0);  // [JP 11]
  theta_.topRows(p).noalias() += G * e;
  xi_ += e.colwise().squaredNorm().transpose();
  if (tracking_) {
    catch_up();
    span_.coefficients(G.bottomRows(m));
    diagonal_.head(m) -= G.bottomRows(m).rowwise().squaredNorm();
    beta_.topRows(m).noalias() += G.bottomRows(m) * e;
  }
  return true;
}

// C, updated row by row, is off by eps |C| or more in every direction, and its inverse by that times cond(C): eps cond(C),
// relative to the norm, as by the Cholesky factor here. What follows is sums, which lose nothing more.
bool OrthonormalState::inform() {
  if (informed_) return true;
  constexpr double kLargestLoss = 1e-8;
  C_.settle();
  const Eigen::LLT<Matrix> factor(C_.dense());
  if (factor.info() != Eigen::Success) return false;
  const Matrix inverse = factor.solve(Matrix::Identity(dimension(), dimension()));
  const double condition = C_.dense().norm() * inverse.norm();  // at least cond(C), and at most p times that
  if (!(std::numeric_limits<double>::epsilon() * condition <= kLargestLoss)) return false;
  information_.assign(inverse);
  informed_ = true;
  return true;
}

void OrthonormalState::begin_accumulating() {
  invert_inverse();
  begin_sums();
}

// C^-1 beside C, at whatever loss.
void OrthonormalState::invert_inverse() {
  if (informed_) return;
  C_.settle();
  const auto factor = definite_factor(C_.dense());
  information_.assign(factor.solve(Matrix::Identity(dimension(), dimension())));
  informed_ = true;
}

void OrthonormalState::begin_sums() {
  added_.gradient = Matrix::Zero(dimension(), n_outputs());
  added_.cost = Vector::Zero(n_outputs());
  accumulating_ = true;
}

OrthonormalState::Sums OrthonormalState::no_sums() const {
  const Index p = dimension();
  Sums sums;
  sums.information.assign(Matrix::Zero(p, p));
  sums.gradient = Matrix::Zero(p, n_outputs());
  sums.cost = Vector::Zero(n_outputs());
  return sums;
}

void OrthonormalState::add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori,
                               Sums& sums) const {
  add_run(W, Y, v, apriori, sums, sums.information);
}

void OrthonormalState::accumulate_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v,
                                      RowsOut apriori) {
  if (!accumulating_) begin_accumulating();
  add_run(W, Y, v, apriori, added_, information_);
}

void OrthonormalState::accumulate(const Sums& sums) {
  if (!accumulating_) begin_accumulating();
  information_.add(sums.information);
  added_.gradient += sums.gradient;
  added_.cost += sums.cost;
}

void OrthonormalState::add_run(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v, RowsOut apriori,
                               Sums& sums, SymmetricInverse& information) const {
  const Index p = dimension(), n = W.cols();
  if (sums.weighted.rows() < p || sums.weighted.cols() < n) sums.weighted.resize(w_.size(), std::max(n, sums.weighted.cols()));
  if (sums.error.rows() < n) sums.error.resize(whole_packets(n), n_outputs());
  auto e = sums.error.topRows(n);
  auto weighted = sums.weighted.topLeftCorner(p, n);
  apriori.noalias() = W.transpose() * theta_.topRows(p);
  e = Y - apriori;
  sums.cost += (e.array().square().colwise() * v.array()).colwise().sum().matrix().transpose();
  weighted.noalias() = W * v.cwiseSqrt().asDiagonal();
  information.add_outer_block(weighted, 1.0);
  for (Index o = 0; o < n_outputs(); ++o) e.col(o).array() *= v.array();
  sums.gradient.noalias() += W * e;
}

// With f the sum over the accumulated rows of v w (y - w'theta) and M the information, theta moves by M^-1 f and the
// cost of the rows at the old theta falls by f'M^-1 f. Measured from the old theta, neither cancels while the model
// is stable.
void OrthonormalState::leave_information() {
  if (!accumulating_) return;
  accumulating_ = false;
  const Index p = dimension();
  const auto factor = definite_factor(information_.dense());
  const Matrix step = factor.solve(added_.gradient);
  theta_.topRows(p) += step;
  xi_ += (added_.cost - step.cwiseProduct(added_.gradient).colwise().sum().transpose()).cwiseMax(0.0);
  invert(factor);
}

void OrthonormalState::settle() {
  leave_information();
  C_.settle();
  catch_up();
  mend();
}

// Where kernel values or weights lie further apart than a double reaches, what is carried along can overflow though the
// state has not: it is computed afresh from it. A C that is no longer definite has no logarithm and a cost that overflowed
// is lost, but a state needs numbers: the largest, with which no evidence speaks for the model.
void OrthonormalState::mend() {
  const Index m = size();
  for (double& xi : xi_)
    if (!std::isfinite(xi)) xi = std::numeric_limits<double>::max();
  if (tracking_ && !(diagonal_.head(m).allFinite() && beta_.topRows(m).allFinite())) refresh_scores();
  if (!std::isfinite(log_det_)) {
    const Eigen::LLT<Matrix> factor(C_.dense());
    log_det_ = -2.0 * factor.matrixLLT().diagonal().array().log().sum();
    if (factor.info() != Eigen::Success || !std::isfinite(log_det_)) log_det_ = std::numeric_limits<double>::max();
  }
}

// C, log|C^-1| and, from theta too, what is tracked from the Cholesky factor of C^-1.
void OrthonormalState::invert(const Eigen::LLT<Matrix>& factor) {
  const Index p = dimension(), m = size();
  const auto R = factor.matrixL();
  log_det_ = 2.0 * factor.matrixLLT().diagonal().array().log().sum();
  Matrix inverse = Matrix::Identity(p, p);
  R.solveInPlace(inverse);  // R^-1, so that C = R^-T R^-1
  Matrix C = Matrix::Zero(p, p);
  C.selfadjointView<Eigen::Lower>().rankUpdate(inverse.transpose());
  C_.assign(C);
  if (tracking_) {  // P^-1 = (R^-1 L^-1)'(R^-1 L^-1) on the kernels
    Matrix whitened = Matrix::Zero(p, m);
    whitened.bottomRows(m) = span_.inverse_factor();
    R.solveInPlace(whitened);
    diagonal_.head(m) = whitened.colwise().squaredNorm().transpose();
    beta_.topRows(m) = beta();
    removals_ = n_lagging_ = 0;
  }
}

void OrthonormalState::restart() {
  const Index p = dimension();
  Matrix information = Matrix::Zero(p, p);
  information.diagonal().tail(size()).setConstant(alpha_);
  information_.assign(information);
  informed_ = true;
  theta_.topRows(p).setZero();
  xi_.setZero();
  begin_sums();
}

// theta <- theta + C (Z V (y - Z'theta) - alpha D theta) leaves of the error of C^-1 Z V y what a product of the two errors
// is; twice is enough wherever the Cholesky factor exists.
void OrthonormalState::learn_only(const ConstMatrixRef& W, const Rows& Y, const ConstVectorRef& v) {
  constexpr int kRefinements = 2;
  const Index p = dimension(), m = size();
  RowMatrix error(Y.rows(), Y.cols());
  restart();
  accumulate_run(W, Y, v, error);
  leave_information();
  drop_information();
  for (int pass = 0; pass <= kRefinements; ++pass) {
    error = Y;
    error.noalias() -= W.transpose() * theta_.topRows(p);
    xi_ = (error.array().square().colwise() * v.array()).colwise().sum().transpose();
    xi_ += alpha_ * theta_.middleRows(offset(), m).colwise().squaredNorm().transpose();
    if (pass == kRefinements) break;
    error.array().colwise() *= v.array();
    Matrix gradient = W * error;
    gradient.bottomRows(m) -= alpha_ * theta_.middleRows(offset(), m);
    Matrix step(p, n_outputs());
    C_.apply_block(gradient, step);
    theta_.topRows(p) += step;
  }
  if (tracking_) beta_.topRows(m) = beta();
}

double OrthonormalState::trace() const {
  double sum = 0;
  for (Index i = 0; i < dimension(); ++i) sum += std::abs(C_.settled_diagonal(i));
  return sum;
}

void OrthonormalState::fade(double factor) {
  settle();
  invert_inverse();
  const Matrix information = reweighed(factor, (1.0 - factor) * alpha_);
  reweigh(factor, information, definite_factor(information));
}

bool OrthonormalState::change_ridge(double alpha) {
  settle();
  const bool informed = informed_;
  invert_inverse();
  const Matrix information = reweighed(1.0, alpha - alpha_);
  const Eigen::LLT<Matrix> factor(information);
  const bool definite = factor.info() == Eigen::Success;
  if (definite) {
    reweigh(1.0, information, factor);
    alpha_ = alpha;
  }
  informed_ = informed;  // a growing stream should not pay for it from now on
  return definite;
}

Matrix OrthonormalState::reweighed(double factor, double ridge) const {
  Matrix information = factor * information_.dense();
  information.diagonal().tail(size()).array() += ridge;
  return information;
}

// Rows count `factor` times what they did, and the ridge grows by `ridge` on top of that: with M = C^-1 and z = M theta
// (the rows alone), M <- f M + ridge D, z <- f z and the minimum f y'Vy - theta_new'z_new is
// f (xi + (theta - theta_new)'M theta).
void OrthonormalState::reweigh(double factor, const Matrix& information, const Eigen::LLT<Matrix>& cholesky) {
  const Index p = dimension();
  const Matrix moment = information_.dense() * theta_.topRows(p);
  const Matrix theta = cholesky.solve(factor * moment);
  xi_ = factor * (xi_ + (theta_.topRows(p) - theta).cwiseProduct(moment).colwise().sum().transpose());
  xi_ = xi_.cwiseMax(0.0);
  theta_.topRows(p) = theta;
  information_.assign(information);
  invert(cholesky);
}

}  // namespace kernsift
