// Growing by a kernel that is exact on the recent rows, not on the current row alone [BEYOND B5] [BEYOND B6].
#include <algorithm>
#include <cmath>

#include "core/stream/orthonormal_state.hpp"

namespace kernsift {

// With Z the coordinates of the recent rows (the current one among them, already learned), s_j the coordinate of row j
// along the new direction, V the weights and e = y - Z'theta:
//   b = Z V s,   h = C b,   q = alpha + s'Vs - b'h,   tau = s'V e / q,   usefulness = q |tau|^2       [BEYOND B5]
double OrthonormalState::look_exact(const ConstMatrixRef& Z, const ConstMatrixRef& Y, const ConstVectorRef& v,
                                    const ConstVectorRef& s) {
  const Index p = dimension(), n = Z.cols();
  if (weighted_.size() < n) {
    weighted_.resize(n);
    errors_.resize(whole_packets(n), n_outputs());
  }
  auto vs = weighted_.head(n);
  auto e = errors_.topRows(n);
  vs = v.cwiseProduct(s);
  auto b = w_.head(p);
  auto h = h_.head(p);
  border_known_ = false;
  b.noalias() = Z * vs;
  C_.apply_settled(b, h);
  schur_ = alpha_ + s.dot(vs) - b.dot(h);  // [BEYOND B5]
  e = Y;
  e.noalias() -= Z.transpose() * theta_.topRows(p);
  double squares = 0;
  for (Index o = 0; o < n_outputs(); ++o) {
    tau_[o] = vs.dot(e.col(o)) / schur_;  // [BEYOND B5]
    squares += tau_[o] * tau_[o];
  }
  return schur_ * squares;
}

// C <- [C + hh'/q, -h/q; -h'/q, 1/q],  theta <- [theta - h tau; tau],  xi -= q tau^2                   [BEYOND B6]
void OrthonormalState::grow_exact(const ConstVectorRef& w, double delta, const ConstVectorRef& s,
                                  const ConstVectorRef& v) {
  const Index p = dimension(), m = size(), b = offset();
  reserve(grown_capacity(diagonal_.size(), m + 1));
  auto h = h_.head(p);
  if (tracking_) {
    catch_up();  // below the cap, after `prune`, nobody has asked for scores
    border_in_kernels(w, delta);
    const double Delta_b = delta * schur_;
    diagonal_.head(m).array() += border_.head(m).array().square() / Delta_b;
    diagonal_[m] = 1.0 / Delta_b;
    for (Index o = 0; o < n_outputs(); ++o) {
      const double beta = tau_[o] / std::sqrt(delta);
      beta_.col(o).head(m) -= beta * border_.head(m);
      beta_(m, o) = beta;
    }
  }
  if (informed_) information_.append(w_.head(p), alpha_ + s.dot(v.cwiseProduct(s)));
  C_.border(h, schur_);  // [BEYOND B6]
  for (Index o = 0; o < n_outputs(); ++o) {
    theta_.col(o).head(p) -= tau_[o] * h;  // [BEYOND B6]
    theta_(p, o) = tau_[o];
    xi_[o] = std::max(xi_[o] - schur_ * tau_[o] * tau_[o], 0.0);  // [BEYOND B6]; of a perfect fit rounding is left
  }
  span_.append(w.segment(b, m), std::sqrt(delta));
  log_det_ += std::log(schur_);
}

// w_b = a + sqrt(delta) L^-T h: the border of P^-1 in the kernels' own coordinates; a = K^-1 k.
void OrthonormalState::border_in_kernels(const ConstVectorRef& w, double delta) {
  if (border_known_) return;
  const Index m = size(), b = offset();
  border_.head(m) = w.segment(b, m) + std::sqrt(delta) * h_.segment(b, m);
  span_.coefficients(border_.head(m));
  border_known_ = true;
}

bool OrthonormalState::scores_after_exact_growth(const ConstVectorRef& w, double delta, VectorRef scores) {
  const Index m = size();
  catch_up();
  border_in_kernels(w, delta);
  bool sound = schur_ > 0;
  for (Index i = 0; i < m; ++i) {
    const double d = diagonal_[i] + border_[i] * border_[i] / (delta * schur_);
    double squares = 0;
    for (Index o = 0; o < n_outputs(); ++o) {
      const double beta = beta_(i, o) - tau_[o] / std::sqrt(delta) * border_[i];
      squares += beta * beta;
    }
    sound = sound && d > 0;
    scores[i] = squares / d;
  }
  return sound;
}

}  // namespace kernsift
