#include "core/stream/value_variance.hpp"

namespace kernsift {

void ValueVariance::reserve(Index n) {
  S_.reserve(n);
  q_.resize(n);
  t_.resize(n);
}

void ValueVariance::assign(const ConstMatrixRef& S, double noise, double count) {
  reserve(S.rows());
  S_.assign(S);
  squares_ = noise * count;
  count_ = count;
}

// e <- (I - g h') e - g noise of the error e = theta* - theta; rho has the variance 1 + h'Sh before.
void ValueVariance::learn(const ConstVectorRef& g, const ConstVectorRef& h, double rho) {
  auto q = q_.head(g.size());
  S_.apply(h, q);
  const double innovation = 1.0 + h.dot(q);
  squares_ += rho * rho / innovation;
  count_ += 1.0;
  q -= (0.5 * innovation) * g;
  S_.add_outer(g, q, -1.0);  // [LSTD variance]
  S_.add_outer(q, g, -1.0);  // [LSTD variance]
}

// C grows by p p'-like parts, p = [-along u; 1]; Z'Z + alpha I by [z zeta; zeta'z, alpha + z^2]. With
// t = z (u - Sh) and kappa = (z^2 (1 + h'Sh - 2h'u) + alpha) / q^2,
//   S <- [S 0; 0 0] + ([t; 0] p' + p [t; 0]') / q + kappa p p'                                        [LSTD variance]
// which is bordering by the completed square.
void ValueVariance::grow(const ConstVectorRef& u, const ConstVectorRef& h, double z, double along, double q,
                         double alpha) {
  const Index m = u.size();
  reserve(grown_capacity(q_.size(), m + 1));
  auto Sh = q_.head(m);
  auto t = t_.head(m);
  S_.apply(h, Sh);
  const double kappa = (z * z * (1.0 + h.dot(Sh) - 2.0 * h.dot(u)) + alpha) / (q * q);
  t = (z / q) * (u - Sh);
  S_.add_outer(t, t, -1.0 / kappa);  // [LSTD variance]
  t = along * u - t / kappa;         // [LSTD variance]
  S_.border(t, t, 1.0 / kappa);
}

void ValueVariance::pad(double prior) {
  const Index m = S_.size();
  reserve(grown_capacity(q_.size(), m + 1));
  t_.head(m).setZero();
  S_.border(t_.head(m), t_.head(m), 1.0 / prior);
}

void ValueVariance::remove_last(const ConstVectorRef& c) {
  const Index m = c.size();
  auto last = q_.head(m);
  last = S_.view().col(m - 1);
  last -= (0.5 * last[m - 1]) * c;
  S_.add_outer(c, last, -1.0);  // [LSTD variance]
  S_.add_outer(last, c, -1.0);  // [LSTD variance]
  S_.drop_last();
}

void ValueVariance::fade(double memory, double prior) {
  S_.fade(memory, prior);
  squares_ *= memory;
  count_ *= memory;
}

void ValueVariance::save(Arrays& arrays) const {
  arrays.put("variance", Matrix(S_.view()));
  arrays.put("variance_squares", squares_);
  arrays.put("variance_count", count_);
}

void ValueVariance::load(const Arrays& arrays, Index size) {
  reserve(size);
  S_.assign(arrays.get("variance", size, size));
  squares_ = arrays.number("variance_squares");
  count_ = arrays.number("variance_count");
}

}  // namespace kernsift
