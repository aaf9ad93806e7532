// The online model as Jung & Polani 2006 write it, sections 3.1 to 3.3 with the errata of cpp/EQUATIONS.md: K^-1, P^-1
// and beta explicit. The literal reference for OnlineModel: same decisions, and nothing that goes beyond the paper. It
// loses accuracy with the condition of K times that of P (MATH 8.1) and can turn indefinite at small alpha and
// novelty_tol; such rows are refused.
//
//   P = K~'VK~ + alpha K,   k = [1; k_m(x)] with a bias (whose row and column of P carry no penalty)
#pragma once

#include "core/linalg/symmetric_inverse.hpp"
#include "core/stream/evidence.hpp"
#include "core/stream/kept_rows.hpp"
#include "core/stream/learned_rows.hpp"
#include "core/stream/one_row.hpp"
#include "core/stream/online_settings.hpp"
#include "core/stream/row_scalars.hpp"

namespace kernsift {

class LiteralModel {
 public:
  LiteralModel(Kernel kernel, Index n_outputs, const OnlineSettings& settings);

  Index n_outputs() const { return beta_.cols(); }
  const OnlineSettings& settings() const { return settings_; }
  const Dictionary& dictionary() const { return dictionary_; }
  const Counters& counters() const { return journal_.counters(); }
  std::int64_t rows_seen() const { return journal_.rows(); }
  std::int64_t rows_learned() const { return learned_.rows; }

  // As OnlineModel, row by row.
  void learn(const Rows& X, const Rows& Y, const ConstVectorRef& v, LearnLog log);
  Index rows_a_step(bool) const { return 1024; }
  void prune(Index kernels);
  void settle() {}  // always

  ConstMatrixRef coefficients() const;
  Vector intercept() const;
  Matrix slopes() const { return Matrix(0, n_outputs()); }
  Matrix bounds() const { return Matrix(0, 2); }
  Matrix target_range() const { return Matrix(0, n_outputs()); }
  void see_targets(const Rows&) {}
  void predict(const Rows& X, RowsOut out, Index threads = 1) const {
    dictionary_.expand(coefficients(), intercept(), X, out, threads);
  }
  void variance(const Rows& X, RowsOut out, Index threads = 1) const;

  void update(const ConstVectorRef& x, const ConstVectorRef& y, double v) {
    prepare_row(x);
    learn_prepared(y, v);
  }
  void prepare_row(const ConstVectorRef& x) { one_.prepare(dictionary_.kernel(), x, prepared_); }
  double prepared_self() const { return dictionary_.kernel().self(prepared_, 0); }
  double prepared_size(const ConstVectorRef&) const { return prepared_self(); }
  void learn_prepared(const ConstVectorRef& y, double v);
  void predict_one(const ConstVectorRef& x, VectorRef out);
  void variance_one(VectorRef out);
  Index member_numbers() const { return n_outputs(); }  // one memory
  void predict_members(VectorRef) {}
  void weigh_by(const ConstVectorRef&) {}
  void constant_variance_one(VectorRef) const {}
  void compare_with(const ConstVectorRef&, const ConstVectorRef&, const ConstVectorRef&) {}  // as if of normal errors
  std::vector<bool> uneven_noise() const { return std::vector<bool>(static_cast<std::size_t>(n_outputs()), false); }
  Vector unaided() const { return Vector::Ones(n_outputs()); }
  Vector interval_widths(double quantile) const { return Vector::Constant(n_outputs(), quantile); }

  const Vector& cost() const { return xi_; }
  Vector rss() const;
  double noise_variance(Index output) const { return kernsift::noise_variance(xi_[output], effective_rows()); }
  const KeptRows& kept() const { return kept_; }
  double log_det() const { return log_det_; }  // log |P| - log |K|
  double dof() const;
  double rows_counted() const { return learned_.counted; }
  double effective_rows() const { return rows_counted() - (settings_.fit_intercept ? 1.0 : 0.0); }
  double sum_log_weights() const { return learned_.sum_log_weights; }
  Index penalised() const { return size(); }
  Matrix inverse_P() const { return P_inv_.dense().bottomRightCorner(size(), size()); }

  Arrays save() const;
  void load(const Arrays& arrays);

 private:
  double relative_variance(double spread, double delta) const;
  Index size() const { return K_inv_.size(); }
  Index dimension() const { return P_inv_.size(); }
  Index offset() const { return settings_.fit_intercept ? 1 : 0; }
  void reserve(Index kernels);
  void learn_row(const double* x, Index row, const double* y, double v, double* apriori, Index i, const EventLog& log);
  Event decide(const RowScalars& row, double k_self, const double* x, Index prepared, const double* y);
  RowScalars look(const ConstVectorRef& k, double k_self, const double* y, double v);
  void normal(const RowScalars& row);
  void grow(const RowScalars& row);
  void border(const ConstVectorRef& w_b, double Delta_b, const ConstVectorRef& a, double delta);
  void remove(Index i);

  struct Work {
    Vector k, a, g, w_b, rho, u, scores;
  };

  OnlineSettings settings_;
  Dictionary dictionary_;
  SymmetricInverse K_inv_, P_inv_;
  Matrix beta_;  // capacity x outputs; row 0 is the bias
  Vector xi_;
  double log_det_ = 0;
  LearnedRows learned_;
  Journal journal_;
  KeptRows kept_;
  PreparedRows prepared_;
  OneRow one_;
  Work row_;  // of the row last looked at
  mutable Coefficients coef_;
};

}  // namespace kernsift
