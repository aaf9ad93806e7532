// Forward selection of kernels with a ridge re-estimated on the way: OROLS (Andelic et al. 2007), OLS with GCV,
// OLS-59 (Jung & Polani 2006, section 4).
//
// The problem, V the row weights, y one or several outputs, over the candidates chosen so far:
//
//   min  sum_i v_i |y_i - b - sum_j alpha_j k_j(x_i)|^2 + lambda |alpha~|^2,      V^1/2 [1 K_m] = Q U,  alpha~ = U
//   alpha
//
// The bias is the first column and carries no penalty. Several outputs share the columns and lambda; sums over them.
//
//   residual          the row with the largest |y_i - f(x_i)|, the ridge included (OROLS)
//   error_reduction   the candidate with the largest (q_i'y)^2 / (lambda + q_i'q_i): of all (OLS), or of
//                     n_candidates random ones (OLS-59)
//
// Rows whose residuals tie (within 1e-9) and the widths of one row are told apart by the error reduction, equal ones
// by the lower number. Candidates found numerically dependent are removed for good, for the span only grows; a thousand
// of them in one step end the selection.
//
// Cost of a step with m columns: residual 8 M m bytes of Q read where the column was expected, else 16 M m; error
// reduction of n random ones n M (d + 2 m) flops besides; of all N M N (d + 2) and no candidate is ever orthogonalised:
// with r = y - Q Q^+ y the running numbers n_i = k_i'r and d_i = |k_i - Q Q^+ k_i|^2 are what the criterion needs, and
// the new column changes them by K'q.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/kernel_columns.hpp"
#include "core/linalg/orthogonal_basis.hpp"
#include "core/ridge/gcv.hpp"
#include "core/select/expected_columns.hpp"
#include "core/select/sampling.hpp"

namespace kernsift {

enum class Criterion { residual, error_reduction };
// A score with a minimum (all but none and alpha), the paper's rule, or no rule.
enum class StopRule { none, gcv, evidence, bic, loo, alpha };
StopRule stop_rule(const std::string& name);  // throws std::invalid_argument
const char* stop_rule_name(StopRule rule);
// Why a selection ended; `score`: that of the stop rule has its minimum.
enum class Ending { running, max_basis, score, alpha, error, condition, exhausted, no_freedom };

struct SelectionSettings {
  Criterion criterion = Criterion::residual;
  Index n_candidates = 0;  // 0: all
  bool reestimate = true;  // lambda by [OROLS 30]; else `alpha`
  double alpha = 0.0;
  StopRule stop = StopRule::gcv;
  Index patience = 10;
  double tol = 1e-4;
  Index max_basis = 0;
  double part = 0;  // of the rows, that max_basis is then; 0: max_basis as it is
  double error_tol = 0.0;
  double max_condition = 1e7;
  bool fit_intercept = true;
  double rows = 0;  // as given, where some that repeat are one
  std::uint64_t seed = 0;
  int threads = 1;

  Index bias() const { return fit_intercept ? 1 : 0; }  // columns without a penalty
  bool scored() const { return stop != StopRule::none && stop != StopRule::alpha; }
};

class ForwardSelection {
 public:
  // Y is rows x c; root_weights are the square roots of positive weights; `allowed` numbers the candidates (ascending).
  ForwardSelection(KernelColumns& columns, const ConstMatrixRef& Y, const ConstVectorRef& root_weights,
                   std::vector<Index> allowed, const SelectionSettings& settings);

  // Adds one column. Returns false when the selection has ended.
  bool step();

  Ending ending() const { return progress_.ending; }
  const std::vector<Index>& chosen() const { return chosen_; }  // as added, those after the best included
  Index best() const { return progress_.best; }                 // how many of them the model keeps
  Index n_dependent() const { return candidates_.n_dependent; }
  double rows() const { return n_rows_; }
  // One entry for each number of kernels, from none.
  const std::vector<double>& gcv_path() const { return paths_.gcv; }
  const std::vector<double>& alpha_path() const { return paths_.alpha; }
  const std::vector<double>& rss_path() const { return paths_.rss; }
  const std::vector<double>& score_path() const { return paths_.score; }  // of the stop rule; GCV where it has none

  struct Model {
    Matrix coef;       // best() x c
    Vector intercept;  // c
    Matrix spread;     // (bias + best()) square: |[1 k(x)] spread|^2 is the variance of f(x) in units of the noise
    Vector rss, cost;  // c
    double trace;
  };
  // The model of the first best() columns.
  Model model();
  OrthogonalBasis& basis() { return basis_; }

 private:
  RidgeSpectrum spectrum(Index columns, const Vector& f2, double residual) const;
  void record(double lambda);
  void note_score();
  double updated_ridge(const Vector& h, const Vector& f2, double residual) const;
  bool add_one_of(const std::vector<Index>& ids);
  bool add(Index id, const ConstVectorRef& k, const OrthogonalBasis::Projection& p, Index i);
  void residual_after(double predicted);
  std::vector<Index> tied_rows();
  std::vector<Index> best_running();
  void refresh_running();
  void multiply(Index g, const ConstMatrixRef& Y, MatrixRef products, Vector* norms);
  void drop(Index id, bool dependent);

  // Columns looked at in this step, and what `append` formed with the one taken.
  struct LookedAt {
    Matrix K, combinations;
    Vector size2;  // squared residual of each row, negative where it is no candidate
    ExpectedColumns expected;
  };
  struct Candidates {
    std::vector<unsigned char> usable;
    std::vector<Index> widths_left;  // usable candidates of each row
    std::vector<Index> pool;         // usable candidates, ascending
    SplitMix64 random;
    Index n_dependent = 0;
  };
  struct Running {
    Matrix n;      // k_i'r, candidates x c
    Vector d;      // |k_i - Q Q^+ k_i|^2
    Vector norms;  // |k_i|^2
  };
  struct Paths {
    std::vector<double> gcv, alpha, rss, score;
  };
  struct Progress {
    double total = 0, best_score = 0;
    Index best = 0, since_best = 0, unchanged = 0;
    Ending ending = Ending::running;
  };

  KernelColumns& columns_;
  SelectionSettings settings_;
  OrthogonalBasis basis_;
  Vector inverse_root_weights_;  // padded
  double n_rows_;
  double lambda_ = 0;
  LookedAt looked_at_;
  Matrix error_;  // y - f of the weighted problem, padded rows x c
  Candidates candidates_;
  std::vector<Index> chosen_;
  Running running_;
  Paths paths_;
  Progress progress_;
};

}  // namespace kernsift
