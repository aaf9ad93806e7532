#include "core/stream/pruning_scores.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/multiply.hpp"
#include "core/simd/triangle_passes.hpp"

namespace kernsift {

void bordered_scores(const ConstMatrixRef& beta, const ConstVectorRef& w, const ConstVectorRef& v, double delta,
                     double schur, const double* tau, VectorRef d, VectorRef scores) {
  const double s = std::sqrt(delta), Delta_b = delta * schur;
  d.array() += w.array() * v.array() / Delta_b;
  scores.setZero();
  for (Index o = 0; o < beta.cols(); ++o)
    scores.array() += (beta.col(o) - (tau[o] / s) * w).array().square();  // [LSTD prune]
  scores.array() /= d.array().abs();
}

bool scores_after_growth(const RowScalars& row, const ConstMatrixRef& beta, const ConstVectorRef& d,
                         const ConstVectorRef& g, const ConstVectorRef& a, const ConstVectorRef& rho, double alpha,
                         VectorRef scores) {
  const double Delta_b = row.delta * (row.den / row.Delta);
  const double share = row.delta / row.Delta;  // [MATH 1.7]
  scores.setZero();
  for (Index o = 0; o < beta.cols(); ++o)
    scores.array() += (beta.col(o) + (rho[o] / row.den) * (alpha * g - a)).array().square();
  const auto w_b = a.array() + share * g.array();
  const auto d_new = d.array() - g.array().square() * (1.0 / row.Delta) + w_b.square() * (1.0 / Delta_b);
  scores.array() /= d_new;  // [MATH 1.7]
  return d_new.size() == 0 || d_new.minCoeff<Eigen::PropagateNaN>() > 0;
}

void PruningScores::reserve(Index kernels) {
  if (diagonal_.size() >= kernels && lagging_.rho.rows() > 0) return;  // rows lag behind before there are kernels too
  const Index n = grown_capacity(diagonal_.size(), kernels), outputs = beta_.cols();
  for (Vector* v : {&diagonal_, &kappa_, &border_}) v->conservativeResize(n);
  unit_.conservativeResize(whole_packets(n + 1));
  image_.conservativeResize(whole_packets(n + 1), 2);
  in_kernels_.conservativeResize(n, kFewColumns);
  beta_.conservativeResize(n, outputs);
  lagging_.h.conservativeResize(n, kFewColumns);
  lagging_.rho.conservativeResize(kFewColumns, outputs);
}

void PruningScores::track(const KernelSpan& span, Posterior& posterior) {
  if (tracking_) return;
  tracking_ = true;
  fades_ = posterior.fades();
  refresh(span, posterior);
}

// d_j = e_j'L^-T C L^-1 e_j and beta = L^-T theta from scratch, O(m^3).
void PruningScores::refresh(const KernelSpan& span, Posterior& posterior) {
  const Index m = span.size(), b = posterior.offset();
  reserve(m);
  if (fresh_.rows() < b + m) fresh_.resize(grown_capacity(fresh_.rows(), b + m), 2);
  auto w = fresh_.col(0).head(b + m), h = fresh_.col(1).head(b + m);  // w = L^-1 e_j, the leading coordinates being 0
  for (Index j = 0; j < m; ++j) {
    w.setZero();
    w[b + j] = 1.0;
    span.coordinates(w.tail(m));
    posterior.apply(w, h);
    diagonal_[j] = w.dot(h);
    kappa_[j] = w.squaredNorm();
  }
  beta_.topRows(m) = posterior.kernel_theta();
  span.coefficients(beta_.topRows(m));
  removals_ = lagging_.count = 0;
}

void PruningScores::catch_up(const KernelSpan& span) {
  if (lagging_.count == 0) return;
  auto G = lagging_.h.topLeftCorner(span.size(), lagging_.count);
  span.coefficients(G);
  follow(G);
}

void PruningScores::follow(const ConstMatrixRef& G) {
  const Index m = G.rows();
  diagonal_.head(m) -= G.rowwise().squaredNorm();
  beta_.topRows(m) += G.lazyProduct(lagging_.rho.topRows(lagging_.count));
  lagging_.count = 0;
}

// g = P^-1 k = L^-T h and a = K^-1 k = L^-T w of the row, and with them what lags behind if the pass has room for it.
void PruningScores::row_in_kernels(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w) {
  if (row_known_) return;
  const Index m = span.size(), lagging = 2 + lagging_.count <= kFewColumns ? lagging_.count : 0;
  in_kernels_.col(0).head(m) = posterior.image().tail(m);
  in_kernels_.col(1).head(m) = w.tail(m);
  auto behind = in_kernels_.block(0, 2, m, lagging);
  behind = lagging_.h.topLeftCorner(m, lagging);
  span.coefficients(in_kernels_.topLeftCorner(m, 2 + lagging));
  if (lagging > 0) follow(behind);
  row_known_ = true;
}

// w_b = a + sqrt(delta) L^-T h: the border of P^-1 in the kernels' own coordinates; a = K^-1 k.
void PruningScores::border_in_kernels(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w,
                                      double delta) {
  if (border_known_) return;
  const Index m = span.size();
  border_.head(m) = w.tail(m) + std::sqrt(delta) * posterior.image().tail(m);
  span.coefficients(border_.head(m));
  border_known_ = true;
}

Eigen::Map<const Vector> PruningScores::projection(const KernelSpan& span, const Posterior& posterior,
                                                   const ConstVectorRef& w) {
  const Index m = span.size();
  reserve(m);
  if (tracking_) {  // the scores will need both
    row_in_kernels(span, posterior, w);
  } else {
    in_kernels_.col(1).head(m) = w.tail(m);
    span.coefficients(in_kernels_.col(1).head(m));
  }
  return {in_kernels_.col(1).data(), m};
}

bool PruningScores::after_growth(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w,
                                 const RowScalars& row, VectorRef scores) {
  const Index m = span.size();
  row_in_kernels(span, posterior, w);
  catch_up(span);
  return scores_after_growth(row, beta_.topRows(m), diagonal_.head(m), in_kernels_.col(0).head(m),
                             in_kernels_.col(1).head(m), posterior.residual(), posterior.alpha(), scores);
}

bool PruningScores::after_exact_growth(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w,
                                       double delta, VectorRef scores) {
  const Index m = span.size();
  catch_up(span);
  border_in_kernels(span, posterior, w, delta);
  auto d = image_.col(0).head(m);
  d = diagonal_.head(m);
  bordered_scores(beta_.topRows(m), border_.head(m), border_.head(m), delta, posterior.schur(),
                  posterior.new_theta().data(), d, scores);
  return posterior.schur() > 0 && (d.array() > 0).all();
}

void PruningScores::normal(const KernelSpan& span, const Posterior& posterior, const RowScalars& row) {
  if (!tracking_) return;
  const Index m = span.size();
  if (row_known_) {
    const auto g = in_kernels_.col(0).head(m);
    diagonal_.head(m).array() -= g.array().square() / row.Delta;
    for (Index o = 0; o < beta_.cols(); ++o) beta_.col(o).head(m) += (posterior.residual()[o] / row.Delta) * g;
    return;
  }
  const double scale = 1.0 / std::sqrt(row.Delta);
  lagging_.h.col(lagging_.count).head(m) = scale * posterior.image().tail(m);
  lagging_.rho.row(lagging_.count) = scale * posterior.residual().transpose();
  if (++lagging_.count == kFewColumns) catch_up(span);
}

// d <- f d + (1 - f)/alpha kappa and beta <- sqrt(f) beta with f = memory^rows; h, which will lower d by its square and
// move beta by a multiple, like beta.                                                                    [BEYOND B7]
void PruningScores::fade(const Posterior& posterior, Index rows) {
  if (!tracking_ || !fades_) return;
  const Index m = posterior.kernels();
  const double left = std::pow(posterior.memory(), static_cast<double>(rows));
  diagonal_.head(m) = left * diagonal_.head(m) + ((1.0 - left) / posterior.alpha()) * kappa_.head(m);
  beta_.topRows(m) *= std::sqrt(left);  // [BEYOND B7]
  lagging_.h.topLeftCorner(m, lagging_.count) *= std::sqrt(left);
}

void PruningScores::forget(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w,
                           const RowScalars& row) {
  if (!tracking_) return;
  row_in_kernels(span, posterior, w);  // Delta < 0 has no root: not among the lagging
  normal(span, posterior, row);
}

void PruningScores::grow(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w,
                         const RowScalars& row) {
  if (!tracking_) return;
  const Index m = span.size();
  row_in_kernels(span, posterior, w);
  catch_up(span);
  reserve(m + 1);
  const auto g = in_kernels_.col(0), a = in_kernels_.col(1);
  const double Delta_b = row.delta * (row.den / row.Delta);  // [JPs grow]: not the Delta_b printed in [JP 14]
  const double share = row.delta / row.Delta;
  for (Index i = 0; i < m; ++i) {
    const double w_b = a[i] + share * g[i];  // [JP 14]
    diagonal_[i] += w_b * w_b / Delta_b - g[i] * g[i] / row.Delta;
  }
  diagonal_[m] = 1.0 / Delta_b;
  if (fades_) {
    kappa_.head(m).array() += a.head(m).array().square() / row.delta;
    kappa_[m] = 1.0 / row.delta;
  }
  for (Index o = 0; o < beta_.cols(); ++o) {
    const double kappa = posterior.residual()[o] / row.den;
    beta_.col(o).head(m) += kappa * (posterior.alpha() * g - a).head(m);  // [JP 15]
    beta_(m, o) = kappa;
  }
}

void PruningScores::grow_exact(const KernelSpan& span, const Posterior& posterior, const ConstVectorRef& w,
                               double delta) {
  if (!tracking_) return;
  const Index m = span.size();
  catch_up(span);  // below the cap, after `prune`, nothing else has needed it
  border_in_kernels(span, posterior, w, delta);
  reserve(m + 1);
  const double Delta_b = delta * posterior.schur();
  diagonal_.head(m).array() += border_.head(m).array().square() / Delta_b;
  diagonal_[m] = 1.0 / Delta_b;
  for (Index o = 0; o < beta_.cols(); ++o) {
    const double kappa = posterior.new_theta()[o] / std::sqrt(delta);
    beta_.col(o).head(m) -= kappa * border_.head(m);
    beta_(m, o) = kappa;
  }
}

void PruningScores::run(const KernelSpan& span, Posterior& posterior, Index rows) {
  if (!tracking_) return;
  const Index m = span.size();
  auto G = posterior.run_gain(rows).bottomRows(m);
  catch_up(span);
  fade(posterior, rows);
  span.coefficients(G);
  diagonal_.head(m) -= G.rowwise().squaredNorm();
  add_product(1.0, G, posterior.run_innovations(rows), beta_.topRows(m));
}

void PruningScores::begin_removal(const KernelSpan& span, Index i) {
  if (!tracking_) return;
  catch_up(span);
  unit_.head(span.size()) = span.block().row(i).transpose();
}

// d <- d - u^2 / u_i and beta <- beta - u beta_i / u_i with u = P^-1 e_i [JP 17]. In the rotated basis L has become
// [L 0; r' l] with element i last, and C has c as its last column: u_i = c_last / l^2, and the rest of u is
// L^-T (c - r c_last / l) / l, L being that of the elements that stay.
void PruningScores::remove(const KernelSpan& span, const Rotations& rotations, Posterior& posterior, Index i,
                           bool lost) {
  if (!tracking_) return;
  const Index m = span.size();  // without element i
  auto row = unit_.head(m + 1);
  rotations.rotate_rows(row, 0);
  const auto c = posterior.removed_column().tail(m + 1);
  const double l = row[m], u_i = c[m] / (l * l);
  auto u = image_.col(0).head(m), k = image_.col(1).head(m);  // k: the same of K^-1, whose last column is -L^-T r / l^2
  u = (c.head(m) - (c[m] / l) * row.head(m)) / l;
  k = row.head(m) / l;
  span.coefficients(image_.topLeftCorner(m, fades_ ? 2 : 1));
  for (double* d : {diagonal_.data(), kappa_.data()}) std::copy(d + i + 1, d + m + 1, d + i);
  diagonal_.head(m).array() -= u.array().square() / u_i;
  if (fades_) kappa_.head(m) -= k.cwiseAbs2();
  for (Index o = 0; o < beta_.cols(); ++o) {
    double* beta = beta_.col(o).data();
    const double gone = beta[i];
    std::copy(beta + i + 1, beta + m + 1, beta + i);
    beta_.col(o).head(m) -= (gone / u_i) * u;
  }
  // what is tracked loses a digit or two over thousands of swaps; once in 2m of them it costs O(m^2) to renew
  if (++removals_ >= std::max<Index>(2 * (m + 1), 64) || lost) refresh(span, posterior);
}

// P^-1 = (R^-1 L^-1)'(R^-1 L^-1) on the kernels, with RR' = C^-1.
void PruningScores::renew(const KernelSpan& span, const Posterior& posterior, const Posterior::Factor& factor) {
  if (!tracking_) return;
  const Index m = span.size();
  Matrix whitened = Matrix::Zero(posterior.dimension(), m);
  whitened.bottomRows(m) = span.inverse_factor();
  factor.matrixL().solveInPlace(whitened);
  diagonal_.head(m) = whitened.colwise().squaredNorm().transpose();
  Matrix beta = posterior.kernel_theta();
  for (Index o = 0; o < beta.cols(); o += kFewColumns)
    span.coefficients(beta.middleCols(o, std::min<Index>(kFewColumns, beta.cols() - o)));
  beta_.topRows(m) = beta;
  removals_ = lagging_.count = 0;
}

// What is carried along can overflow though the state has not: then it is computed afresh.
void PruningScores::settle(const KernelSpan& span, Posterior& posterior) {
  const Index m = span.size();
  catch_up(span);
  if (tracking_ && !(diagonal_.head(m).allFinite() && beta_.topRows(m).allFinite())) refresh(span, posterior);
}

void PruningScores::scores(const KernelSpan& span, VectorRef scores) {
  const Index m = span.size();
  catch_up(span);
  scores = beta_.topRows(m).rowwise().squaredNorm().cwiseQuotient(diagonal_.head(m));
}

void PruningScores::save(Arrays& arrays, Index kernels) const {
  arrays.put("diagonal", tracking_ ? Matrix(diagonal_.head(kernels)) : Matrix(0, 1));
  arrays.put("beta", tracking_ ? Matrix(beta_.topRows(kernels)) : Matrix(0, beta_.cols()));
  arrays.put("kappa", tracking_ && fades_ ? Matrix(kappa_.head(kernels)) : Matrix(0, 1));
  arrays.put("tracking", tracking_);
  arrays.put("removals", static_cast<double>(removals_));
}

void PruningScores::load(const Arrays& arrays, Index kernels) {
  tracking_ = arrays.number("tracking") != 0;
  lagging_.count = 0;
  reserve(kernels);
  if (tracking_) {
    diagonal_.head(kernels) = arrays.get("diagonal", kernels, 1);
    beta_.topRows(kernels) = arrays.get("beta", kernels, beta_.cols());
    fades_ = arrays.items().count("kappa") > 0 && arrays.get("kappa").rows() > 0;
    if (fades_) kappa_.head(kernels) = arrays.get("kappa", kernels, 1);
  }
  removals_ = arrays.count("removals");
}

}  // namespace kernsift
