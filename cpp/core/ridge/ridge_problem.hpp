// Least squares with a ridge from sums over rows, the unpenalised bias eliminated: everything that follows from the
// sums alone, for one ridge (by a factor) or for all of them (by one eigen-decomposition).
//
//   minimise  sum_i v_i |y_i - b - w_i'theta|^2 + alpha |theta|^2     from  M = sum v w w', z = sum v w y', ...
#pragma once

#include <memory>

#include "core/base/types.hpp"
#include "core/ridge/gcv.hpp"

namespace kernsift {

// What a degree of freedom costs when GCV chooses alpha: at 1 GCV now and then takes far too little ridge (300 kernels
// on abalone: RMSE 0.683 instead of 0.638); 1.4 cures that and costs nothing where there is nothing to cure (Kim and
// Gu, "Smoothing spline Gaussian regression: more scalable computation", 2004).
constexpr double kGcvToll = 1.4;
// alpha is sought between these multiples of the largest eigenvalue.
constexpr double kLeastAlpha = 1e-12, kLargestAlpha = 1e3;
// Part of the variance of y that is taken for noise whatever the fit: below it a residual is rounding of the sums.
constexpr double kNoiseFloor = 1e-12;

// Sums over rows, as views: they outlive the problem.
struct RidgeSums {
  ConstMatrixRef M;       // (m, m), its lower triangle; empty where only a factor is left of it
  ConstMatrixRef z;       // (m, outputs), of y - offset
  ConstVectorRef s;       // (m): sum v w
  ConstVectorRef y, yy;   // (outputs): sums of v (y - offset) and v (y - offset)^2
  ConstVectorRef offset;  // (outputs)
  double weight;          // sum v
  double count;           // rows of positive weight
  double precision;       // rounding of M, relative to its largest eigenvalue
};

class RidgeProblem {
 public:
  RidgeProblem(const RidgeSums& sums, bool bias, int threads);
  ~RidgeProblem();

  Index size() const { return s_.size(); }
  Index outputs() const { return z_.cols(); }
  double weight() const { return weight_; }
  double precision() const { return precision_; }
  double bias_leverage() const { return bias_ > 0 ? 1.0 / weight_ : 0.0; }
  const Vector& mean() const { return mean_; }  // of w; 0 without a bias
  const Vector& mean_y() const { return mean_y_; }
  const Matrix& moments() const { return z_; }  // sum v (w - mean) y'
  // M about the mean into the lower triangle of `where`, which may be that of M.
  void centre(MatrixRef where) const;

  // --- for one ridge ---

  // Whether alpha is certainly larger than the rounding of M: by its trace, not by its largest eigenvalue.
  bool above_rounding(double alpha) const;
  // Factors M about the mean + alpha I = R R', R lower; false where rounding forbids it. The last factor is kept.
  bool factor(double alpha);
  // The same in the lower triangle of `where`, which may be that of M; the caller keeps it.
  bool factor_into(MatrixRef where, double alpha);
  // A factor from before, which the caller keeps.
  void use_factor(const ConstMatrixRef& R, double alpha);
  // Makes the factor for alpha, or else the spectrum: what the functions below need.
  bool ready(double alpha);
  void prepare(double alpha);

  // The coefficients in orthonormal coordinates. Where rounding forbids a factor, the smallest minimiser: directions
  // that rounding moves by more than is in them, the ridge included, hold nothing but rounding.
  Matrix theta(double alpha);

  struct Solution {
    Matrix coef;  // of kernels: L^-T theta
    Vector intercept;
    Vector cost;  // xi = y'y - z'theta; what rounding leaves below zero is a perfect fit
    Vector noise_variance;
  };
  Solution solution(const Rows& L, double alpha);

  // After `prepare`. W (m, rows), the coordinates w of rows, becomes U, and `standardised` f (m, outputs), such that
  // u'u is a row's leverage (w - mean)'A^-1(w - mean) and u'f its fit.
  void standardise(double alpha, MatrixRef W) const;
  Matrix standardised(double alpha) const;

  // --- for all ridges ---

  const Vector& values();  // eigenvalues of M about the mean, ascending, none negative
  const Matrix& vectors();
  const Matrix& projected();  // Q'z
  double largest();           // eigenvalue, or 1 where there is nothing to see
  bool has_spectrum() const { return spectrum_ != nullptr; }

  Vector rss(double alpha);
  double dof(double alpha);  // effective number of parameters, the bias among them
  Vector gcv(double alpha, double toll = 1.0);
  // Of rows that are one observation each, whatever their weight; `sum_log_weights` is of theirs.
  Vector log_evidence(double alpha, double rows, double sum_log_weights);
  // The largest alpha within 1e-4 of the smallest GCV summed over the outputs, on a grid of ten a decade; a degree of
  // freedom counts kGcvToll times. A fixed grid, because a refined minimum would turn rounding of the sums into
  // differences of alpha: a fit shall not depend on the order of the rows.
  double best_gcv();

  // Doubles for m kernels: a factor or, while a spectrum is computed, its matrices; a solution; tiles of rows; and a
  // leave-one-out grid of `alphas` ridges.
  static double memory_needed(Index m, Index outputs, bool spectrum, Index alphas);

 private:
  struct Spectrum;
  struct Explained;
  const Spectrum& spectrum();
  Explained explained();
  bool has_factor(double alpha) const { return factor_.there && factor_.alpha == alpha; }
  auto R() const { return factor_.place->triangularView<Eigen::Lower>(); }

  ConstMatrixRef sums_;
  Matrix z_;
  Vector s_, mean_, mean_y_, yy_;
  double weight_, total_, bias_, precision_;
  int threads_;
  std::unique_ptr<Spectrum> spectrum_;
  struct Factor {
    Matrix own;                             // where it is nobody else's
    std::unique_ptr<ConstMatrixRef> place;  // where it is
    bool there = false;
    double alpha = -1;
  } factor_;
};

// The ridge of the smallest GCV of a stream's problem: from Z'VZ and Z'VY (with a bias its coordinate is the first),
// the outputs' sums of squares, the weight and the number of the rows.
double best_ridge(const ConstMatrixRef& cross, const ConstMatrixRef& moments, const ConstVectorRef& squares,
                  double weight, double count, bool bias);

}  // namespace kernsift
