// Generalised cross-validation of a ridge in an orthogonal basis, and the ridge that minimises it.
//
// The basis has columns q_j with h_j = q_j'q_j and f_j = q_j'y; y is one or several outputs that share the ridge.
// Columns without a penalty (the bias) only take a degree of freedom each and are not listed.
#pragma once

#include "core/base/types.hpp"

namespace kernsift {

struct RidgeSpectrum {
  ConstVectorRef h;    // q_j'q_j > 0 of the penalised columns
  ConstVectorRef f2;   // sum over the outputs of (q_j'y)^2
  double residual;     // |y - Q Q^+ y|^2 over the outputs: what no ridge can explain
  double rows;         // M
  double unpenalised;  // columns without a penalty

  // |y - Q (Q'Q + lambda I)^-1 Q'y|^2, as a sum of non-negative terms: nothing cancels when the fit is close.
  double rss(double lambda) const;
  // M minus the effective number of parameters.
  double trace(double lambda) const;
  // [OROLS 27] M rss / trace^2; infinite where no freedom is left.
  double gcv(double lambda) const;
  // The regularised cost rss + lambda |alpha~|^2.
  double cost(double lambda) const;
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
