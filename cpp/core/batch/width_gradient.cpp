#include "core/batch/width_gradient.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/kernel/gram.hpp"
#include "core/ridge/evidence.hpp"
#include "core/ridge/gcv.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

namespace {

constexpr Index kGradientTile = 256;

// sum over pairs of E(l, i) (x_ij - z_lj)^2, or of E(l, i) |x_ij - z_lj|, for each feature j, while tiles of E arrive.
class PairSums {
 public:
  PairSums(KernelSum sum, const Eigen::Map<const RowMatrix>& Z, bool of_landmarks)
      : absolute_(sum == KernelSum::absolutes),
        of_landmarks_(of_landmarks && !absolute_),
        Z_(Z),
        sums_(Vector::Zero(Z.cols())) {
    if (!absolute_) {
      products_ = Matrix::Zero(Z.rows(), Z.cols());
      rows_ = Vector::Zero(Z.rows());
    }
  }

  void add(const ConstMatrixRef& E, const Eigen::Map<const RowMatrix>& X) {
    if (absolute_) {
      for (Index i = 0; i < X.rows(); ++i)
        for (Index j = 0; j < X.cols(); ++j) sums_[j] += E.col(i).dot((Z_.col(j).array() - X(i, j)).abs().matrix());
      return;
    }
    products_.noalias() += E * X;                                                  // [BEYOND B3]
    rows_ += E.rowwise().sum();                                                    // [BEYOND B3]
    sums_.noalias() += X.cwiseAbs2().transpose() * E.colwise().sum().transpose();  // [BEYOND B3]
  }

  Vector total() const {
    if (absolute_) return sums_;
    return sums_ + Z_.cwiseAbs2().transpose() * rows_ - 2.0 * Z_.cwiseProduct(products_).colwise().sum().transpose();
  }
  // Half the derivative of the sums of squares with regard to the z's, with the E's held.
  Matrix of_landmarks() const { return of_landmarks_ ? Matrix(rows_.asDiagonal() * Z_ - products_) : Matrix(); }

 private:
  bool absolute_, of_landmarks_;
  Matrix Z_, products_;
  Vector rows_, sums_;
};

Eigen::Map<const RowMatrix> coordinates(const PreparedRows& rows, Index first, Index count, Index n_features) {
  return {rows.coordinates(first), count, n_features};
}

}  // namespace

WidthCriterion width_criterion(const std::string& name) {
  if (name == "loo") return WidthCriterion::loo;
  if (name == "gcv") return WidthCriterion::gcv;
  if (name == "evidence") return WidthCriterion::evidence;
  throw std::invalid_argument("criterion '" + name + "' is unknown");
}

// dJ = <p, d rho> + <q, d g> for loo and gcv; dJ = xi' d xi + log_det d log|A| - ... for the evidence.
struct WidthProblem::Parts {
  Matrix theta, rho;  // L'b; (n, outputs)
  Matrix p;
  Vector q;
  double scale = 1;  // of p and q: dJ is divided by it
  double cost_slope = 0, log_det = 0;
};

WidthProblem::WidthProblem(KernelKind kind, RowMatrix X, RowMatrix landmarks, const Rows& Y,
                           const ConstVectorRef& weight, const ConstVectorRef& within, bool bias, double jitter)
    : kind_(kind),
      X_(std::move(X)),
      Z_(std::move(landmarks)),
      T_(Y),
      y_mean_(Vector::Zero(Y.cols())),
      v_(weight),
      root_(weight.cwiseSqrt()),
      within_(within),
      total_(weight.sum()),
      jitter_(jitter),
      bias_(bias) {
  if (Z_.rows() < 1 || X_.rows() < 1 || !(v_.array() > 0).all())
    throw std::invalid_argument("widths are learned from rows of positive weight and at least one landmark");
  rows_ = std::max(total_, static_cast<double>(X_.rows()));
  if (bias_) y_mean_ = T_.transpose() * v_ / total_;
  T_.rowwise() -= y_mean_.transpose();
  T_ = root_.asDiagonal() * T_;
}

void WidthProblem::set_landmarks(RowMatrix landmarks) { Z_ = std::move(landmarks); }

bool WidthProblem::factor(const Kernel& kernel, double alpha) {
  const Index n = X_.rows(), m = Z_.rows();
  kernel.prepare(X_, x_);
  kernel.prepare(Z_, z_);
  panels_ = panels_of(z_, 0, m, X_.cols());
  K_.resize(panels_.padded(), n);
  W_.resize(panels_.padded(), n);
  Matrix padded;
  KZ_.resize(m, m);
  kernel_columns(kernel, panels_, z_, 0, m, padded, KZ_);

  kernel.block(panels_, x_, 0, n, K_);
  const auto K = K_.topRows(m);
  auto W = W_.topRows(m);
  k_mean_ = bias_ ? Vector(K * v_ / total_) : Vector(Vector::Zero(m));
  L_ = alpha * KZ_;
  L_.diagonal().array() += jitter_ * total_;
  for (Index first = 0; first < n; first += kGradientTile) {
    const Index count = std::min(kGradientTile, n - first);
    auto S = W.middleCols(first, count);
    S = (K.middleCols(first, count).colwise() - k_mean_) * root_.segment(first, count).asDiagonal();
    L_.selfadjointView<Eigen::Lower>().rankUpdate(S);  // [BEYOND B1]
  }
  Eigen::LLT<Eigen::Ref<Matrix>> llt(L_);
  if (llt.info() != Eigen::Success) return false;
  const auto L = L_.triangularView<Eigen::Lower>();
  for (Index first = 0; first < n; first += kGradientTile) {
    auto tile = W.middleCols(first, std::min(kGradientTile, n - first));
    L.solveInPlace(tile);
  }
  return true;
}

// The criterion, and its derivatives with regard to the residuals and the leverages.
bool WidthProblem::weigh(WidthCriterion criterion, double toll, double alpha, Parts& parts, WidthValue& out) const {
  const Index n = X_.rows(), c = T_.cols();
  const auto W = W_.topRows(Z_.rows());
  parts.theta.noalias() = W * T_;
  parts.rho = T_;
  parts.rho.noalias() -= W.transpose() * parts.theta;
  const Vector squares = parts.rho.rowwise().squaredNorm() + within_;
  if (criterion == WidthCriterion::evidence) {
    const double used = rows_ - bias_;
    const double xi = T_.squaredNorm() + within_.sum() - parts.theta.squaredNorm();
    Matrix prior = alpha * KZ_;
    prior.diagonal().array() += jitter_ * total_;
    const Eigen::LLT<Matrix> prior_factor(prior);
    if (prior_factor.info() != Eigen::Success || !(xi > 0)) return false;
    const double dets =
        2 * (L_.diagonal().array().log().sum() - prior_factor.matrixLLT().diagonal().array().log().sum());
    out.value = evidence_loss(used * static_cast<double>(c), xi / total_, static_cast<double>(c) * dets) / rows_;
    parts.cost_slope = used * static_cast<double>(c) / xi / rows_;
    parts.log_det = static_cast<double>(c) / rows_;
    return std::isfinite(out.value);
  }
  const Vector g = W.colwise().squaredNorm();
  if (criterion == WidthCriterion::loo) {
    const Eigen::ArrayXd unit = v_.unaryExpr(&leaving).array() / v_.array();
    const Eigen::ArrayXd leverage = unit * (g.array() + (bias_ ? 1.0 / total_ : 0.0) * v_.array());
    const Eigen::ArrayXd slack = (1.0 - leverage).cwiseMax(kLeastSlack);
    const double sum = (squares.array() / slack.square()).sum();
    parts.p = (2.0 / slack.square()).matrix().asDiagonal() * parts.rho;
    parts.q = 2.0 * squares.array() * unit / slack.cube();  // [BEYOND B1]
    parts.scale = sum;
    out.value = sum / total_;
  } else {
    const double left = rows_ - toll * (g.sum() + bias_), rss = squares.sum();
    out.value = gcv_score(rows_, rss, left) * (rows_ / total_);
    parts.p = 2.0 * parts.rho;
    parts.q = Vector::Constant(n, 2.0 * toll * rss / left);
    parts.scale = rss;
  }
  return std::isfinite(out.value) && parts.scale > 0;
}

void WidthProblem::differentiate(const Kernel& kernel, double alpha, bool of_landmarks, Parts& parts, WidthValue& out) {
  const Index n = X_.rows(), m = Z_.rows(), d = X_.cols();
  const bool evidence = parts.q.size() == 0;
  const auto W = W_.topRows(m);
  const auto Lt = L_.transpose().triangularView<Eigen::Upper>();
  const auto K = K_.topRows(m);

  // In the coordinates W = L^-1 S', in which A is the identity:
  //   F = dJ/dS L = -(p - S u) b'L - rho u'L + 2 (diag(q) W' - W' N),   u = A^-1 S'p,  N = W diag(q) W'
  Matrix phi = Matrix::Zero(m, T_.cols()), N = Matrix::Zero(m, m);
  Vector column_sums = Vector::Zero(m);
  Matrix left(m, 2 * T_.cols()), right(n, 2 * T_.cols());
  if (evidence) {
    left << parts.theta, Matrix::Zero(m, T_.cols());
    right << 2.0 * parts.cost_slope * parts.rho, Matrix::Zero(n, T_.cols());
  } else {
    parts.p /= parts.scale;
    parts.q /= parts.scale;
    phi.noalias() = W * parts.p;
    left << parts.theta, phi;
    right.leftCols(T_.cols()) = parts.p;
    right.leftCols(T_.cols()).noalias() -= W.transpose() * phi;
    right.rightCols(T_.cols()) = parts.rho;
    for (Index first = 0; first < n; first += kGradientTile) {
      const Index count = std::min(kGradientTile, n - first);
      scaled_ = W.middleCols(first, count) * parts.q.segment(first, count).cwiseSqrt().asDiagonal();
      N.selfadjointView<Eigen::Lower>().rankUpdate(scaled_);
    }
    N.triangularView<Eigen::StrictlyUpper>() = N.transpose();
    if (bias_) {  // the rows are centred: what they have in common does not move. W and rho are orthogonal to V^1/2 1.
      column_sums = 2.0 * (W * parts.q.cwiseProduct(root_)) - parts.theta * (parts.p.transpose() * root_);
      Lt.solveInPlace(column_sums);
    }
  }

  PairSums pairs(kernel.row().sum, coordinates(z_, 0, m, d), of_landmarks);
  const bool own = kernel.row().slope != kernel.row().block;
  if (own) slope_.resize(panels_.padded(), std::max(kGradientTile, m));
  F_.resize(m, kGradientTile);
  for (Index first = 0; first < n; first += kGradientTile) {
    const Index count = std::min(kGradientTile, n - first);
    auto F = F_.leftCols(count);
    const auto w = W.middleCols(first, count);
    F.noalias() = left * right.middleRows(first, count).transpose();
    F *= -1.0;  // [BEYOND B2]
    if (evidence) {
      F += 2.0 * parts.log_det * w;
    } else {
      F += w * (2.0 * parts.q.segment(first, count)).asDiagonal();  // [BEYOND B2]
      F.noalias() -= 2.0 * N * w;                                   // [BEYOND B2]
    }
    Lt.solveInPlace(F);
    F = F * root_.segment(first, count).asDiagonal();  // from S to K
    if (bias_) F.noalias() -= column_sums * (v_.segment(first, count) / total_).transpose();
    if (own) {
      kernel.slope(panels_, x_, first, count, slope_.leftCols(count));
      F.array() *= slope_.topLeftCorner(m, count).array();
    } else {
      F.array() *= K.middleCols(first, count).array();
    }
    pairs.add(F, coordinates(x_, first, count, d));
  }

  // dJ/dK_Z = alpha (u b' - N), symmetrised, back in kernel coordinates: of the evidence alpha (xi' b b' + A^-1) -
  // alpha (alpha K_Z)^-1.
  Matrix GZ;
  if (evidence) {
    GZ = parts.cost_slope * parts.theta * parts.theta.transpose();
    GZ.diagonal().array() += parts.log_det;
  } else {
    GZ = 0.5 * (phi * parts.theta.transpose() + parts.theta * phi.transpose()) - N;  // [BEYOND B2]
  }
  Lt.solveInPlace(GZ);
  GZ.transposeInPlace();
  Lt.solveInPlace(GZ);
  GZ *= alpha;
  if (evidence) {
    Matrix prior = alpha * KZ_;
    prior.diagonal().array() += jitter_ * total_;
    GZ -= (parts.log_det * alpha) * prior.llt().solve(Matrix::Identity(m, m));
  }
  out.log_alpha = GZ.cwiseProduct(KZ_).sum();
  PairSums landmark_pairs(kernel.row().sum, coordinates(z_, 0, m, d), of_landmarks);
  if (own) {
    kernel.slope(panels_, z_, 0, m, slope_.leftCols(m));
    GZ.array() *= slope_.topLeftCorner(m, m).array();
  } else {
    GZ.array() *= KZ_.array();
  }
  landmark_pairs.add(GZ, coordinates(z_, 0, m, d));
  out.log_gamma = -(pairs.total() + landmark_pairs.total());  // the coordinates carry gamma
  if (of_landmarks && kernel.row().smooth)
    out.landmarks =
        (-2.0 * pairs.of_landmarks() - 4.0 * landmark_pairs.of_landmarks()) * kernel.gamma().cwiseSqrt().asDiagonal();
}

Kernel WidthProblem::kernel_at(const Vector& gamma, double alpha) const {
  // Measured from the mean of the landmarks: the sums of squares in the gradient lose least there.
  Kernel kernel(kind_, gamma, 1, 0.0, Z_.colwise().mean().transpose());
  if (!kernel.row().slope) throw std::invalid_argument("this kernel has no slope, so its widths cannot be learned");
  if (!(alpha > 0)) throw std::invalid_argument("alpha must be positive");
  return kernel;
}

WidthValue WidthProblem::evaluate(const Vector& gamma, double alpha, WidthCriterion criterion, double toll,
                                  bool gradient, bool of_landmarks) {
  const Kernel kernel = kernel_at(gamma, alpha);
  WidthValue out;
  Parts parts;
  if (!factor(kernel, alpha) || !weigh(criterion, toll, alpha, parts, out)) return out;
  out.sound = true;
  if (gradient) differentiate(kernel, alpha, of_landmarks, parts, out);
  return out;
}

double WidthProblem::objective(const ConstVectorRef& point, WidthCriterion criterion, double toll, Vector* slope) {
  const Index d = n_features(), m = Z_.rows();
  const bool moving = point.size() > d + 1;
  if (point.size() != d + 1 + (moving ? m * d : 0))
    throw std::invalid_argument("a point holds log widths, a log ridge and perhaps every landmark");
  if (moving) Z_ = Eigen::Map<const RowMatrix>(point.data() + d + 1, m, d);
  if (slope) slope->setZero(point.size());
  const bool is_log = criterion == WidthCriterion::evidence;
  const Vector gamma = point.head(d).array().exp();
  const WidthValue out = evaluate(gamma, std::exp(point[d]) * total_, criterion, toll, slope != nullptr, moving);
  if (!out.sound || !(out.value > 0 || is_log)) return kUnsound;
  if (slope) {
    slope->head(d) = out.log_gamma;
    (*slope)[d] = out.log_alpha;
    if (moving) slope->tail(m * d) = Eigen::Map<const Vector>(out.landmarks.data(), m * d);
  }
  return is_log ? out.value : std::log(out.value);
}

double WidthProblem::error_on(const ConstVectorRef& point, const Rows& X, const Rows& Y, const ConstVectorRef& weight,
                              const ConstVectorRef& within) {
  const Index d = n_features(), m = Z_.rows();
  const double alpha = std::exp(point[d]) * total_;
  const Kernel kernel = kernel_at(point.head(d).array().exp(), alpha);
  if (!factor(kernel, alpha)) return std::numeric_limits<double>::infinity();
  Matrix coef = Matrix::Zero(panels_.padded(), T_.cols());
  auto b = coef.topRows(m);
  b.noalias() = W_.topRows(m) * T_;
  L_.transpose().triangularView<Eigen::Upper>().solveInPlace(b);
  const Vector intercept = y_mean_ - b.transpose() * k_mean_;
  double sum = within.sum();
  PreparedRows rows;
  RowMatrix fitted(kGradientTile, T_.cols());
  for (Index first = 0; first < X.rows(); first += kGradientTile) {
    const Index count = std::min(kGradientTile, X.rows() - first);
    kernel.prepare(X.middleRows(first, count), rows);
    kernel.expand(panels_, coef, intercept, rows, 0, count, fitted.topRows(count));
    sum +=
        weight.segment(first, count).dot((Y.middleRows(first, count) - fitted.topRows(count)).rowwise().squaredNorm());
  }
  return sum;
}

double WidthProblem::memory_needed(Index n, Index m, Index d, int problems) {
  const double square = 1.0 * m * m;
  // K and W, the rows as given and as prepared, K_Z and L; and N, dJ/dK_Z, the prior, its factor and what they make
  return problems * (2.0 * n * (m + d) + 2.0 * square) + 6.0 * square;
}

}  // namespace kernsift
