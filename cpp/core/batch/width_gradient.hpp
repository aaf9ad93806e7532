// The error of a small subset-of-regressors model and its gradient with regard to one width per feature, or to the
// slopes of a warp.
//
//   A = S'S + alpha K_Z + jitter I,  S = V^1/2 K (rows k(x_i, Z), centred about their mean if there is a bias),
//   b = A^-1 S't,  t = V^1/2 y,  rho = t - S b,  g_i = s_i'A^-1 s_i
//
//   loo       sum_i |rho_i|^2 / (1 - l_i)^2,  l_i = g_i (plus the bias's v_i / sum v) of one unit of weight [BEYOND B1]
//   gcv       n |rho|^2 / (n - toll dof)^2,   dof = sum_i g_i (plus one for the bias)
//   evidence  n log xi + outputs (log|A| - log|alpha K_Z|), xi the regularised cost: minus twice the log evidence
//
// The first two are divided by sum v; of all three the gradient is that of their logarithm (of the third: itself).
// Everything that costs n m^2 is a matrix product or a triangular solve on many columns: 6 n m^2 + 4 n m d flops.
#pragma once

#include <string>

#include "core/kernel/kernels.hpp"

namespace kernsift {

enum class WidthCriterion { loo, gcv, evidence };
WidthCriterion width_criterion(const std::string& name);  // throws std::invalid_argument for an unknown name

struct WidthValue {
  bool sound = false;  // false: A is not positive definite to working precision, and there is nothing else
  double value = 0;    // the criterion (of loo and gcv not its logarithm)
  Vector log_gamma;    // (n_widths()), with regard to log gamma_j, or to the logs of the slopes
  double log_alpha = 0;
  RowMatrix landmarks;  // (m, d), with regard to the landmarks; empty for laplacian, or if not requested
};

class WidthProblem {
 public:
  // Equal rows may be given once with their weights added and their targets averaged; `within` is then the part of
  // sum v |y|^2 about the average, per row. jitter is per unit of weight. The landmarks are fixed points.
  // With a warp its slopes stand in the place of the widths everywhere below. The logs of a feature's slopes have a
  // normal prior about those given, of variance 1 / prior and up to a common factor: `objective` counts it.
  WidthProblem(KernelKind kind, RowMatrix X, RowMatrix landmarks, const Rows& Y, const ConstVectorRef& weight,
               const ConstVectorRef& within, bool bias, double jitter, Warp warp = {}, double prior = 0,
               int threads = 1);

  Index n_features() const { return data_.X.cols(); }
  Index n_widths() const { return warp_.none() ? n_features() : warp_.n_slopes(); }
  const RowMatrix& landmarks() const { return data_.Z; }
  void set_landmarks(RowMatrix landmarks);

  WidthValue evaluate(const Vector& gamma, double alpha, WidthCriterion criterion, double toll, bool gradient,
                      bool of_landmarks);

  // The same as a search sees it. A point is log gamma, the log of the ridge per unit of weight, and, where the
  // landmarks move too, their coordinates row after row.
  //
  // The log criterion (the evidence is a logarithm already), with the prior's part a row, and, if `slope` is given, its
  // gradient; kUnsound and a zero gradient where the numbers break.
  double objective(const ConstVectorRef& point, WidthCriterion criterion, double toll, Vector* slope);
  static constexpr double kUnsound = 1e3;
  // The weighted sum of squared errors of the model at a point, on other rows.
  double error_on(const ConstVectorRef& point, const Rows& X, const Rows& Y, const ConstVectorRef& weight,
                  const ConstVectorRef& within);

  // Doubles kept by a number of problems of n rows and m landmarks each, and the workspace of one evaluation.
  static double memory_needed(Index n, Index m, Index d, int problems);

 private:
  struct Parts;
  Kernel kernel_at(const Vector& gamma, double alpha) const;
  bool factor(const Kernel& kernel, double alpha);
  bool weigh(WidthCriterion criterion, double toll, double alpha, Parts& parts, WidthValue& out) const;
  void differentiate(const Kernel& kernel, double alpha, bool of_landmarks, Parts& parts, WidthValue& out);

  struct Data {
    RowMatrix X, Z;  // rows and landmarks
    Matrix T;        // (n, outputs): V^1/2 (y - mean)
    Vector y_mean;   // 0 without a bias
    Vector v, root, within;
    double total = 0, rows = 0;  // rows: as many as the weights stand for
    bool bias = false;
  };
  // Of the present widths. Kept between calls: their pages cost more than their arithmetic.
  struct Present {
    PreparedRows x, z;
    Panels panels;
    Matrix K, W;    // (padded m, n): kernel values; L^-1 S'
    Matrix KZ, L;   // K_Z; the factor of A
    Vector k_mean;  // 0 without a bias
  };

  KernelKind kind_;
  Warp warp_;
  double jitter_, prior_;
  int threads_;
  Data data_;
  Present now_;
};

}  // namespace kernsift
