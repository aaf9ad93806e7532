// Generalised cross-validation of a ridge in coordinates in which it is diagonal, and the ridge that minimises it.
//
// The coordinates are the columns q_j of an orthogonal basis, with h_j = q_j'q_j and f_j = q_j'y, or the eigenvectors
// of sums over rows, with h_j the eigenvalues; y is one or several outputs that share the ridge. Columns without a
// penalty (the bias) only take a degree of freedom each and are not listed.
#pragma once

#include "core/base/types.hpp"

namespace kernsift {

// n rss / left^2, `left` what n rows leave of their freedom; infinite where less than 1e-9 of it is left, for then
// `left` is a difference that rounding has made. [OROLS 27] [MATH 1.8]
double gcv_score(double rows, double rss, double left);

struct RidgeSpectrum {
  ConstVectorRef h;    // q_j'q_j > 0 of the penalised columns
  ConstVectorRef f2;   // sum over the outputs of (q_j'y)^2
  double residual;     // |y - Q Q^+ y|^2 over the outputs: what no ridge can explain
  double rows;         // M
  double unpenalised;  // columns without a penalty

  // |y - Q (Q'Q + lambda I)^-1 Q'y|^2, as a sum of non-negative terms: nothing cancels when the fit is close.
  double rss(double lambda) const;
  // M minus the effective number of parameters, each counted `toll` times.
  double trace(double lambda, double toll = 1.0) const;
  double gcv(double lambda, double toll = 1.0) const { return gcv_score(rows, rss(lambda), trace(lambda, toll)); }
  // The regularised cost rss + lambda |alpha~|^2.
  double cost(double lambda) const;
  // The regularised cost times |I + QQ'/lambda|^(1/n), n = M less the columns without a penalty: the smaller, the
  // larger the evidence of the targets with the best noise variance. Needs lambda > 0.
  double evidence(double lambda) const;
  // Schwarz's criterion as Orr (1996) writes it: the unbiased noise variance times one plus (log M - 1) times the part
  // of the freedom that is spent.
  double bic(double lambda) const;
  // One application of the re-estimation formula [OROLS 30]; negative or NaN where it says nothing.
  double reestimate(double lambda) const;
};

// A ridge below this fraction of max h is no ridge: the re-estimate can fall to 1e-8 of its usual value in one unlucky
// sample, and the coefficients then explode (MATH 4.3).
constexpr double kRidgeFloor = 1e-6;
// Above this multiple of max h every column is switched off.
constexpr double kRidgeCeiling = 1e8;

// The fixed point of [OROLS 30] from `lambda`, kept within [floor, ceiling] times max h. `lambda` = 0 is a valid start.
double ridge_fixed_point(const RidgeSpectrum& spectrum, double lambda, double floor = kRidgeFloor, int iterations = 50,
                         double tolerance = 1e-6);

// The lowest minimum of the score within the same bounds: the fixed point from `lambda`, or a lower one found from a
// coarse scan of the whole range. The score can have two minima, and (30) stays in the basin it starts in.
double ridge_minimum(const RidgeSpectrum& spectrum, double lambda, double floor = kRidgeFloor, int iterations = 50,
                     double tolerance = 1e-6);

}  // namespace kernsift
