#include "core/ridge/ridge_problem.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/multiply.hpp"
#include "core/linalg/blocked_triangles.hpp"
#include "core/linalg/symmetric_eigen.hpp"
#include "core/ridge/evidence.hpp"

namespace kernsift {

namespace {
constexpr double kEps = std::numeric_limits<double>::epsilon();
}

struct RidgeProblem::Spectrum {
  explicit Spectrum(const Matrix& M) : solver(M), values(solver.eigenvalues().cwiseMax(0.0)) {}
  SymmetricEigen solver;
  Vector values;
  Matrix projected;
};

// Eigenvalues that are more than rounding, what their directions hold of y, and what none of them explains.
struct RidgeProblem::Explained {
  Vector values;
  Matrix f2;    // (values, outputs): (q'z)^2
  Vector rest;  // per output
  RidgeSpectrum of(const ConstVectorRef& squares, double residual, double rows, double bias) const {
    return {values, squares, residual, rows, bias};
  }
};

RidgeProblem::RidgeProblem(const RidgeSums& sums, bool bias, int threads)
    : sums_(sums.M),
      z_(sums.z),
      s_(sums.s),
      mean_(Vector::Zero(sums.s.size())),
      mean_y_(Vector::Zero(sums.y.size())),
      yy_(sums.yy),
      weight_(sums.weight),
      total_(std::max(sums.weight, sums.count)),  // rows the weights stand for; scaled-down weights still count as rows
      bias_(bias ? 1.0 : 0.0),
      precision_(std::max(sums.precision, kEps * static_cast<double>(sums.s.size()))),
      threads_(threads) {
  if (bias) {
    mean_ = s_ / weight_;
    const Vector shift = sums.y / weight_;
    z_.noalias() -= s_ * shift.transpose();
    yy_ = (yy_ - sums.y.cwiseProduct(shift)).cwiseMax(0.0);
    mean_y_ = sums.offset + shift;
  } else {
    z_.noalias() += s_ * sums.offset.transpose();
    yy_ += 2.0 * sums.offset.cwiseProduct(sums.y) + weight_ * sums.offset.cwiseAbs2();
  }
}

RidgeProblem::~RidgeProblem() = default;

// --- one ridge ------------------------------------------------------------------------------------------------

bool RidgeProblem::above_rounding(double alpha) const {
  return alpha > precision_ * (sums_.diagonal().sum() - (bias_ > 0 ? s_.squaredNorm() / weight_ : 0.0));
}

void RidgeProblem::centre(MatrixRef where) const {
  if (sums_.rows() != size()) throw std::invalid_argument("the sums over the rows were not kept");
  if (where.data() != sums_.data()) where.triangularView<Eigen::Lower>() = sums_;
  if (bias_ > 0) where.selfadjointView<Eigen::Lower>().rankUpdate(s_, -1.0 / weight_);
}

bool RidgeProblem::factor_into(MatrixRef where, double alpha) {
  centre(where);
  where.diagonal().array() += alpha;
  const bool definite = cholesky(where, threads_);
  if (definite) factor_.place = std::make_unique<ConstMatrixRef>(where);
  factor_.there = definite;
  factor_.alpha = alpha;
  return definite;
}

bool RidgeProblem::factor(double alpha) {
  if (factor_.alpha != alpha) {
    factor_.own.resize(size(), size());
    factor_into(factor_.own, alpha);
    if (!factor_.there) factor_.own.resize(0, 0);
  }
  return factor_.there;
}

void RidgeProblem::use_factor(const ConstMatrixRef& R, double alpha) {
  factor_.place = std::make_unique<ConstMatrixRef>(R);
  factor_.there = true;
  factor_.alpha = alpha;
}

bool RidgeProblem::ready(double alpha) { return spectrum_ != nullptr || (alpha > 0 && factor(alpha)); }

void RidgeProblem::prepare(double alpha) {
  if (!ready(alpha)) spectrum();
}

Matrix RidgeProblem::theta(double alpha) {
  if (spectrum_ == nullptr && ready(alpha)) {
    Matrix theta = z_;
    R().solveInPlace(theta);
    factor_.place->transpose().triangularView<Eigen::Upper>().solveInPlace(theta);
    if (theta.allFinite()) return theta;
  }
  const Spectrum& s = spectrum();
  const double least = precision_ * largest();
  Vector inverse(size());
  for (Index i = 0; i < size(); ++i) inverse[i] = s.values[i] + alpha > least ? 1.0 / (s.values[i] + alpha) : 0.0;
  return product(s.solver.eigenvectors(), Matrix(inverse.asDiagonal() * s.projected));
}

RidgeProblem::Solution RidgeProblem::solution(const Rows& L, double alpha) {
  Solution out;
  out.coef = theta(alpha);
  out.intercept = mean_y_ - out.coef.transpose() * mean_;
  out.cost = (yy_ - z_.cwiseProduct(out.coef).colwise().sum().transpose()).cwiseMax(0.0);
  out.noise_variance = out.cost / std::max(weight_ * (1.0 - bias_ / total_), kEps);
  L.transpose().triangularView<Eigen::Upper>().solveInPlace(out.coef);
  return out;
}

void RidgeProblem::standardise(double alpha, MatrixRef W) const {
  W.colwise() -= mean_;
  if (has_factor(alpha) && spectrum_ == nullptr) return R().solveInPlace(W);
  W = product(spectrum_->solver.eigenvectors().transpose(), W);
  W.array().colwise() /= (spectrum_->values.array() + alpha).sqrt();
}

Matrix RidgeProblem::standardised(double alpha) const {
  if (!(has_factor(alpha) && spectrum_ == nullptr))
    return spectrum_->projected.array().colwise() / (spectrum_->values.array() + alpha).sqrt();
  Matrix f = z_;
  R().solveInPlace(f);
  return f;
}

// --- all ridges -----------------------------------------------------------------------------------------------

const RidgeProblem::Spectrum& RidgeProblem::spectrum() {
  if (!spectrum_) {
    factor_.own.resize(0, 0);  // makes room; the spectrum serves from now on
    factor_.there = false;
    factor_.alpha = -1;
    Matrix M(size(), size());
    centre(M);
    auto found = std::make_unique<Spectrum>(M);
    found->projected = product(found->solver.eigenvectors().transpose(), z_);
    spectrum_ = std::move(found);
  }
  return *spectrum_;
}

const Vector& RidgeProblem::values() { return spectrum().values; }
const Matrix& RidgeProblem::vectors() { return spectrum().solver.eigenvectors(); }
const Matrix& RidgeProblem::projected() { return spectrum().projected; }

double RidgeProblem::largest() {
  const Vector& all = values();
  const double top = all.size() > 0 ? all[all.size() - 1] : 0.0;
  return top > 0 ? top : 1.0;
}

RidgeProblem::Explained RidgeProblem::explained() {
  const Spectrum& s = spectrum();
  const Index none = (s.values.array() <= precision_ * largest()).count(), real = size() - none;  // they ascend
  Explained out{s.values.tail(real), s.projected.bottomRows(real).cwiseAbs2(), yy_};
  out.rest -= (out.f2.array().colwise() / out.values.array()).colwise().sum().matrix().transpose();
  out.rest = out.rest.cwiseMax(0.0) + kNoiseFloor * yy_;
  return out;
}

Vector RidgeProblem::rss(double alpha) {
  const Explained e = explained();
  Vector out(outputs());
  for (Index o = 0; o < outputs(); ++o) out[o] = e.of(e.f2.col(o), e.rest[o], total_, bias_).rss(alpha);
  return out;
}

double RidgeProblem::dof(double alpha) {
  const Explained e = explained();
  return bias_ + (e.values.array() / (e.values.array() + alpha)).sum();
}

Vector RidgeProblem::gcv(double alpha, double toll) {
  const Explained e = explained();
  Vector out(outputs());
  for (Index o = 0; o < outputs(); ++o) out[o] = e.of(e.f2.col(o), e.rest[o], total_, bias_).gcv(alpha, toll);
  return out;
}

Vector RidgeProblem::log_evidence(double alpha, double rows, double sum_log_weights) {
  const Explained e = explained();
  const double n = rows - bias_;
  double log_det = ((e.values.array() / alpha).log1p()).sum();
  if (bias_ > 0) log_det += std::log(weight_);
  Vector out(outputs());
  for (Index o = 0; o < outputs(); ++o)
    out[o] =
        kernsift::log_evidence(n, e.of(e.f2.col(o), e.rest[o], total_, bias_).cost(alpha), log_det, sum_log_weights);
  return out;
}

double RidgeProblem::best_gcv() {
  const Explained e = explained();
  const Vector f2 = e.f2.rowwise().sum();
  const RidgeSpectrum together = e.of(f2, e.rest.sum(), total_, bias_);
  const int steps = static_cast<int>(std::ceil(10 * std::log10(kLargestAlpha / std::max(kLeastAlpha, precision_))));
  Vector grid(std::max(steps, 0) + 1), scores(grid.size());
  for (Index k = 0; k < grid.size(); ++k) {
    grid[k] = largest() * kLargestAlpha * std::pow(10.0, -0.1 * static_cast<double>(k));
    scores[k] = together.gcv(grid[k], kGcvToll);
  }
  const double good = scores.minCoeff() * (1 + 1e-4);
  for (Index k = 0; k < grid.size(); ++k)
    if (scores[k] <= good) return grid[k];
  return grid[0];
}

double RidgeProblem::memory_needed(Index m, Index outputs, bool spectrum, Index alphas) {
  if (!spectrum) return 1.0 * m * m;
  // M about the mean, in place of which its eigenvectors come, and two squares to find them; with a grid, also what
  // the product of two squares packs (measured with AVX-512: 430 columns, with AVX2 below 150)
  const double packed = alphas > 0 ? 512.0 : 0.0;
  return m * (3.0 * m + 768.0 + packed + 4.0 * outputs + alphas * (1.0 + outputs));
}

double best_ridge(const ConstMatrixRef& cross, const ConstMatrixRef& moments, const ConstVectorRef& squares,
                  double weight, double count, bool bias) {
  const Index first = bias ? 1 : 0, m = cross.rows() - first, outputs = moments.cols();
  const Vector s = bias ? Vector(cross.col(0).tail(m)) : Vector(Vector::Zero(m));
  const Vector y = bias ? Vector(moments.row(0).transpose()) : Vector(Vector::Zero(outputs));
  const Vector none = Vector::Zero(outputs);
  const RidgeSums sums{
      cross.bottomRightCorner(m, m),           moments.bottomRows(m), s, y, squares, none, weight, count,
      kEps * static_cast<double>(cross.rows())};
  return RidgeProblem(sums, bias, 1).best_gcv();
}

}  // namespace kernsift
