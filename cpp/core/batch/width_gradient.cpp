#include "core/batch/width_gradient.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/multiply.hpp"
#include "core/base/names.hpp"
#include "core/base/parallel.hpp"
#include "core/batch/pair_sums.hpp"
#include "core/kernel/gram.hpp"
#include "core/ridge/evidence.hpp"
#include "core/ridge/gcv.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

namespace {

constexpr Index kGradientTile = 256;
constexpr Index kRowsOfSum = 1024;  // rows of a task

Index parts_of(Index n) { return (n + kRowsOfSum - 1) / kRowsOfSum; }

// work(part, first, count) for the parts of n rows.
template <class Work>
void in_parts(Index n, int threads, const Work& work) {
  parallel_for(parts_of(n), threads, [&](Index part) {
    const Index first = part * kRowsOfSum;
    work(part, first, std::min(kRowsOfSum, n - first));
  });
}

// work(first, count) for the tiles of a part.
template <class Work>
void in_tiles(Index first, Index count, const Work& work) {
  for (Index at = first; at < first + count; at += kGradientTile) work(at, std::min(kGradientTile, first + count - at));
}

// The lower triangle of the sum of columns' outer products: add(first, count, A) for each tile.
template <class Add>
Matrix sum_of_parts(Index n, Index m, int threads, const Add& add) {
  std::vector<Matrix> sums(static_cast<std::size_t>(parts_of(n)));
  in_parts(n, threads, [&](Index part, Index first, Index count) {
    Matrix& A = sums[static_cast<std::size_t>(part)];
    A.setZero(m, m);
    in_tiles(first, count, [&](Index at, Index tile) { add(at, tile, A); });
  });
  for (std::size_t part = 1; part < sums.size(); ++part) sums[0] += sums[part];
  return std::move(sums[0]);
}

constexpr Named<WidthCriterion> kCriteria[] = {
    {WidthCriterion::loo, "loo"}, {WidthCriterion::gcv, "gcv"}, {WidthCriterion::evidence, "evidence"}};

Eigen::Map<const RowMatrix> coordinates(const PreparedRows& rows, Index first, Index count, Index n_features) {
  return {rows.coordinates(first), count, n_features};
}

}  // namespace

WidthCriterion width_criterion(const std::string& name) { return value_of(kCriteria, "criterion", name); }

// dJ = <p, d rho> + <q, d g> for loo and gcv; dJ = xi' d xi + log_det d log|A| - ... for the evidence.
struct WidthProblem::Parts {
  Matrix theta, rho;  // L'b; (n, outputs)
  Matrix p;
  Vector q;
  double scale = 1;  // of p and q: dJ is divided by it
  double cost_slope = 0, log_det = 0;
};

WidthProblem::WidthProblem(KernelKind kind, RowMatrix X, RowMatrix landmarks, const Rows& Y,
                           const ConstVectorRef& weight, const ConstVectorRef& within, bool bias, double jitter,
                           Warp warp, double prior, int threads)
    : kind_(kind),
      warp_(std::move(warp)),
      jitter_(jitter),
      prior_(prior),
      threads_(threads),
      data_{std::move(X),
            std::move(landmarks),
            Y,
            Vector::Zero(Y.cols()),
            weight,
            weight.cwiseSqrt(),
            within,
            sum_of(weight),
            0.0,
            bias} {
  if (data_.Z.rows() < 1 || data_.X.rows() < 1 || !(data_.v.array() > 0).all())
    throw std::invalid_argument("widths are learned from rows of positive weight and at least one landmark");
  data_.rows = std::max(data_.total, static_cast<double>(data_.X.rows()));
  if (data_.bias) data_.y_mean = data_.T.transpose() * data_.v / data_.total;
  data_.T.rowwise() -= data_.y_mean.transpose();
  data_.T = data_.root.asDiagonal() * data_.T;
}

void WidthProblem::set_landmarks(RowMatrix landmarks) { data_.Z = std::move(landmarks); }

bool WidthProblem::factor(const Kernel& kernel, double alpha) {
  const Index n = data_.X.rows(), m = data_.Z.rows();
  kernel.prepare(data_.X, now_.x);
  kernel.prepare(data_.Z, now_.z);
  now_.panels = panels_of(now_.z, 0, m, data_.X.cols());
  now_.K.resize(now_.panels.padded(), n);
  now_.W.resize(now_.panels.padded(), n);
  Matrix padded;
  now_.KZ.resize(m, m);
  kernel_columns(kernel, now_.panels, now_.z, 0, m, padded, now_.KZ);

  in_parts(n, threads_, [&](Index, Index first, Index count) {
    kernel.block(now_.panels, now_.x, first, count, now_.K.middleCols(first, count));
  });
  const auto K = now_.K.topRows(m);
  auto W = now_.W.topRows(m);
  now_.k_mean = data_.bias ? Vector(K * data_.v / data_.total) : Vector(Vector::Zero(m));
  now_.L = sum_of_parts(n, m, threads_, [&](Index first, Index count, Matrix& A) {
    auto S = W.middleCols(first, count);
    S = (K.middleCols(first, count).colwise() - now_.k_mean) * data_.root.segment(first, count).asDiagonal();
    A.selfadjointView<Eigen::Lower>().rankUpdate(S);  // [BEYOND B1]
  });
  now_.L += alpha * now_.KZ;
  now_.L.diagonal().array() += jitter_ * data_.total;
  Eigen::LLT<Eigen::Ref<Matrix>> llt(now_.L);
  if (llt.info() != Eigen::Success) return false;
  const auto L = now_.L.triangularView<Eigen::Lower>();
  in_parts(n, threads_, [&](Index, Index begin, Index size) {
    in_tiles(begin, size, [&](Index first, Index count) {
      auto tile = W.middleCols(first, count);
      L.solveInPlace(tile);
    });
  });
  return true;
}

// The criterion, and its derivatives with regard to the residuals and the leverages.
bool WidthProblem::weigh(WidthCriterion criterion, double toll, double alpha, Parts& parts, WidthValue& out) const {
  const Index n = data_.X.rows(), c = data_.T.cols();
  const auto W = now_.W.topRows(data_.Z.rows());
  parts.theta = product(W, data_.T);
  parts.rho = data_.T;
  add_product(-1.0, W.transpose(), parts.theta, parts.rho);
  const Vector squares = parts.rho.rowwise().squaredNorm() + data_.within;
  if (criterion == WidthCriterion::evidence) {
    const double used = data_.rows - data_.bias;
    const double xi = data_.T.squaredNorm() + data_.within.sum() - parts.theta.squaredNorm();
    Matrix prior = alpha * now_.KZ;
    prior.diagonal().array() += jitter_ * data_.total;
    const Eigen::LLT<Matrix> prior_factor(prior);
    if (prior_factor.info() != Eigen::Success || !(xi > 0)) return false;
    const double dets =
        2 * (now_.L.diagonal().array().log().sum() - prior_factor.matrixLLT().diagonal().array().log().sum());
    out.value =
        evidence_loss(used * static_cast<double>(c), xi / data_.total, static_cast<double>(c) * dets) / data_.rows;
    parts.cost_slope = used * static_cast<double>(c) / xi / data_.rows;
    parts.log_det = static_cast<double>(c) / data_.rows;
    return std::isfinite(out.value);
  }
  const Vector g = W.colwise().squaredNorm();
  if (criterion == WidthCriterion::loo) {
    const Eigen::ArrayXd unit = data_.v.unaryExpr(&leaving).array() / data_.v.array();
    const Eigen::ArrayXd leverage = unit * (g.array() + (data_.bias ? 1.0 / data_.total : 0.0) * data_.v.array());
    const Eigen::ArrayXd slack = (1.0 - leverage).cwiseMax(kLeastSlack);
    const double sum = (squares.array() / slack.square()).sum();
    parts.p = (2.0 / slack.square()).matrix().asDiagonal() * parts.rho;
    parts.q = 2.0 * squares.array() * unit / slack.cube();  // [BEYOND B1]
    parts.scale = sum;
    out.value = sum / data_.total;
  } else {
    const double left = data_.rows - toll * (g.sum() + data_.bias), rss = squares.sum();
    out.value = gcv_score(data_.rows, rss, left) * (data_.rows / data_.total);
    parts.p = 2.0 * parts.rho;
    parts.q = Vector::Constant(n, 2.0 * toll * rss / left);
    parts.scale = rss;
  }
  return std::isfinite(out.value) && parts.scale > 0;
}

void WidthProblem::differentiate(const Kernel& kernel, double alpha, bool of_landmarks, Parts& parts, WidthValue& out) {
  const Index n = data_.X.rows(), m = data_.Z.rows(), d = data_.X.cols();
  const bool evidence = parts.q.size() == 0;
  const auto W = now_.W.topRows(m);
  const auto Lt = now_.L.transpose().triangularView<Eigen::Upper>();
  const auto K = now_.K.topRows(m);

  // In the coordinates W = L^-1 S', in which A is the identity:
  //   F = dJ/dS L = -(p - S u) b'L - rho u'L + 2 (diag(q) W' - W' N),   u = A^-1 S'p,  N = W diag(q) W'
  Matrix phi = Matrix::Zero(m, data_.T.cols()), N;
  Vector column_sums = Vector::Zero(m);
  Matrix left(m, 2 * data_.T.cols()), right(n, 2 * data_.T.cols());
  if (evidence) {
    left << parts.theta, Matrix::Zero(m, data_.T.cols());
    right << 2.0 * parts.cost_slope * parts.rho, Matrix::Zero(n, data_.T.cols());
  } else {
    parts.p /= parts.scale;
    parts.q /= parts.scale;
    phi = product(W, parts.p);
    left << parts.theta, phi;
    right.leftCols(data_.T.cols()) = parts.p;
    add_product(-1.0, W.transpose(), phi, right.leftCols(data_.T.cols()));
    right.rightCols(data_.T.cols()) = parts.rho;
    N = sum_of_parts(n, m, threads_, [&](Index first, Index count, Matrix& A) {
      const Matrix scaled = W.middleCols(first, count) * parts.q.segment(first, count).cwiseSqrt().asDiagonal();
      A.selfadjointView<Eigen::Lower>().rankUpdate(scaled);
    });
    N.triangularView<Eigen::StrictlyUpper>() = N.transpose();
    if (data_.bias) {  // the rows are centred: what they have in common does not move. W and rho are orthogonal to
                       // V^1/2 1.
      column_sums = 2.0 * (W * parts.q.cwiseProduct(data_.root)) - parts.theta * (parts.p.transpose() * data_.root);
      Lt.solveInPlace(column_sums);
    }
  }

  const bool warped = !kernel.warp().none();
  const double power = kernel.row().sum == KernelSum::squares ? 2.0 : 1.0;  // of a distance
  const bool own = kernel.row().slope != kernel.row().block;
  const auto z = coordinates(now_.z, 0, m, d);
  std::vector<PairSums> pairs(static_cast<std::size_t>(parts_of(n)), PairSums(kernel.row().sum, z, warped));
  std::vector<Vector> slopes(pairs.size(), Vector::Zero(warped ? n_widths() : 0));
  const auto add_tile = [&](Index part, Index first, Index count, Matrix& F, Matrix& slope) {
    F.resize(m, count);
    const auto w = W.middleCols(first, count);
    F.setZero();
    add_product(-1.0, left, right.middleRows(first, count).transpose(), F);  // [BEYOND B2]
    if (evidence) {
      F += 2.0 * parts.log_det * w;
    } else {
      F += w * (2.0 * parts.q.segment(first, count)).asDiagonal();  // [BEYOND B2]
      add_product(-2.0, N, w, F);                                   // [BEYOND B2]
    }
    Lt.solveInPlace(F);
    F = F * data_.root.segment(first, count).asDiagonal();  // from S to K
    if (data_.bias) F.noalias() -= column_sums * (data_.v.segment(first, count) / data_.total).transpose();
    if (own) {
      slope.resize(now_.panels.padded(), count);
      kernel.slope(now_.panels, now_.x, first, count, slope);
      F.array() *= slope.topRows(m).array();
    } else {
      F.array() *= K.middleCols(first, count).array();
    }
    const auto x = coordinates(now_.x, first, count, d);
    pairs[part].add(F, x);
    if (warped)
      kernel.warp().add_slopes(data_.X.middleRows(first, count), -power * pairs[part].of_rows(F, x), slopes[part]);
  };
  in_parts(n, threads_, [&](Index part, Index begin, Index size) {
    Matrix F, slope;
    in_tiles(begin, size, [&](Index first, Index count) { add_tile(part, first, count, F, slope); });
  });
  for (std::size_t part = 1; part < pairs.size(); ++part) {
    pairs[0].add(pairs[part]);
    slopes[0] += slopes[part];
  }

  // dJ/dK_Z = alpha (u b' - N), symmetrised, back in kernel coordinates: of the evidence alpha (xi' b b' + A^-1) -
  // alpha (alpha K_Z)^-1.
  Matrix GZ;
  if (evidence) {
    GZ = parts.cost_slope * product(parts.theta, parts.theta.transpose());
    GZ.diagonal().array() += parts.log_det;
  } else {
    GZ = 0.5 * (product(phi, parts.theta.transpose()) + product(parts.theta, phi.transpose())) - N;  // [BEYOND B2]
  }
  Lt.solveInPlace(GZ);
  GZ.transposeInPlace();
  Lt.solveInPlace(GZ);
  GZ *= alpha;
  if (evidence) {
    Matrix prior = alpha * now_.KZ;
    prior.diagonal().array() += jitter_ * data_.total;
    GZ -= (parts.log_det * alpha) * prior.llt().solve(Matrix::Identity(m, m));
  }
  out.log_alpha = GZ.cwiseProduct(now_.KZ).sum();
  PairSums landmark_pairs(kernel.row().sum, z, warped);
  if (own) {
    Matrix slope(now_.panels.padded(), m);
    kernel.slope(now_.panels, now_.z, 0, m, slope);
    GZ.array() *= slope.topRows(m).array();
  } else {
    GZ.array() *= now_.KZ.array();
  }
  landmark_pairs.add(GZ, z);
  if (warped) {
    const RowMatrix by_landmarks = -power * (pairs[0].of_landmarks() + 2.0 * landmark_pairs.of_landmarks());
    out.log_gamma = slopes[0];
    kernel.warp().add_slopes(data_.Z, by_landmarks, out.log_gamma);
    return;
  }
  out.log_gamma = -(pairs[0].total() + landmark_pairs.total());  // the coordinates carry gamma
  if (of_landmarks && kernel.row().smooth)
    out.landmarks = (-2.0 * pairs[0].of_landmarks() - 4.0 * landmark_pairs.of_landmarks()) *
                    kernel.gamma().cwiseSqrt().asDiagonal();
}

Kernel WidthProblem::kernel_at(const Vector& gamma, double alpha) const {
  // Measured from the mean of the landmarks: the sums of squares in the gradient lose least there.
  const Vector centre = data_.Z.colwise().mean().transpose();
  const bool plain = warp_.none();
  Kernel kernel(kind_, plain ? gamma : Vector(Vector::Ones(n_features())), 1, 0.0, centre,
                plain ? Warp() : warp_.with(gamma));
  if (!kernel.row().slope) throw std::invalid_argument("this kernel has no slope, so its widths cannot be learned");
  if (!(alpha > 0)) throw std::invalid_argument("alpha must be positive");
  return kernel;
}

WidthValue WidthProblem::evaluate(const Vector& gamma, double alpha, WidthCriterion criterion, double toll,
                                  bool gradient, bool of_landmarks) {
  if (of_landmarks && !warp_.none()) throw std::invalid_argument("landmarks move under plain widths only");
  const Kernel kernel = kernel_at(gamma, alpha);
  WidthValue out;
  Parts parts;
  if (!factor(kernel, alpha) || !weigh(criterion, toll, alpha, parts, out)) return out;
  out.sound = true;
  if (gradient) differentiate(kernel, alpha, of_landmarks, parts, out);
  return out;
}

double WidthProblem::objective(const ConstVectorRef& point, WidthCriterion criterion, double toll, Vector* slope) {
  const Index d = n_widths(), m = data_.Z.rows(), coordinates = m * n_features();
  const bool moving = point.size() > d + 1;
  if (point.size() != d + 1 + (moving ? coordinates : 0))
    throw std::invalid_argument("a point holds log widths, a log ridge and perhaps every landmark");
  if (moving) data_.Z = Eigen::Map<const RowMatrix>(point.data() + d + 1, m, n_features());
  if (slope) slope->setZero(point.size());
  const bool is_log = criterion == WidthCriterion::evidence;
  const Vector gamma = point.head(d).array().exp();
  const WidthValue out = evaluate(gamma, std::exp(point[d]) * data_.total, criterion, toll, slope != nullptr, moving);
  if (!out.sound || !(out.value > 0 || is_log)) return kUnsound;
  if (slope) {
    slope->head(d) = out.log_gamma;
    (*slope)[d] = out.log_alpha;
    if (moving) slope->tail(coordinates) = Eigen::Map<const Vector>(out.landmarks.data(), coordinates);
  }
  const double value = is_log ? out.value : std::log(out.value);
  if (warp_.none()) return value;
  const double strength = prior_ / data_.rows;
  return value + strength * warp_.unlikeness(point.head(d), strength, slope);
}

double WidthProblem::error_on(const ConstVectorRef& point, const Rows& X, const Rows& Y, const ConstVectorRef& weight,
                              const ConstVectorRef& within) {
  const Index d = n_widths(), m = data_.Z.rows();
  const double alpha = std::exp(point[d]) * data_.total;
  const Kernel kernel = kernel_at(point.head(d).array().exp(), alpha);
  if (!factor(kernel, alpha)) return std::numeric_limits<double>::infinity();
  Matrix coef = Matrix::Zero(now_.panels.padded(), data_.T.cols());
  auto b = coef.topRows(m);
  multiply(now_.W.topRows(m), data_.T, b);
  now_.L.transpose().triangularView<Eigen::Upper>().solveInPlace(b);
  const Vector intercept = data_.y_mean - b.transpose() * now_.k_mean;
  double sum = sum_of(within);
  PreparedRows rows;
  RowMatrix fitted(kGradientTile, data_.T.cols());
  for (Index first = 0; first < X.rows(); first += kGradientTile) {
    const Index count = std::min(kGradientTile, X.rows() - first);
    kernel.prepare(X.middleRows(first, count), rows);
    kernel.expand(now_.panels, coef, intercept, rows, 0, count, fitted.topRows(count));
    sum +=
        weight.segment(first, count).dot((Y.middleRows(first, count) - fitted.topRows(count)).rowwise().squaredNorm());
  }
  return sum;
}

double WidthProblem::memory_needed(Index n, Index m, Index d, int problems) {
  const double square = 1.0 * m * m;
  // K and W, the rows as given and as prepared, K_Z and L; and N, dJ/dK_Z, the prior, its factor and what they make;
  // and the sums of the parts of the rows
  return problems * (2.0 * n * (m + d) + 2.0 * square) + 6.0 * square +
         static_cast<double>(parts_of(n)) * (square + 1.0 * m * (d + 2.0 * kGradientTile));
}

}  // namespace kernsift
