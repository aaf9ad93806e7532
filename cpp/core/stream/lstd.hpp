// Kernel LSTD(lambda): the value of a policy from its transitions, on the recursion of the online model.
//
// A transition (s, r, s') has, on the dictionary, k = k_m(s), h = k - g k_m(s') (h = k where the episode ends) and the
// trace z <- g lambda z + k (z = 0 where an episode starts). After every transition the model is the fixed point
//   P w = Z'r,  P = Z'H + alpha K_mm,                                                                 [LSTD 1]
// with rows of Z and H exact when their transition is learned; an element x* that joins later adds the columns Z a* and
// H a* to earlier rows. In the orthonormal basis of the span (MATH 1.2), K_mm = LL':
//   C = L'P^-1 L = (Zw'Hw + alpha I)^-1, unsymmetric,  theta = C Zw'r = L'w,  V(x) = w(x)'theta
// and the trace is kept there too. criterion "brm" (Bellman residual) has z = h: then C is symmetric, w minimises
// |r - Hw|^2 + alpha w'Kw, and usefulness and pruning scores are the exact changes of that cost. LSTD minimises no
// cost: there the same expressions, in absolute value, are analogues.
//
// A transition of importance rho, the ratio of the target policy's probability of its action to that of the policy that
// acted, multiplies the trace by it: z <- rho (g lambda z + k). What else can follow the same transitions: the
// covariance of the values (value_variance.hpp) and the iterate of LSPE(lambda) (lspe.hpp), which is then the model,
// while C decides on the dictionary.
//
// Invariants: C is the inverse of [LSTD 1] in the current basis; d, while tracked, is the diagonal of P^-1.
#pragma once

#include "core/linalg/unsymmetric_inverse.hpp"
#include "core/stream/admission.hpp"
#include "core/stream/basis.hpp"
#include "core/stream/kept_rows.hpp"
#include "core/stream/learned_rows.hpp"
#include "core/stream/lspe.hpp"
#include "core/stream/value_variance.hpp"

namespace kernsift {

struct LSTDSettings {
  double alpha = 0.1, discount = 0.95, trace_decay = 0;
  Admission admission{Rule::product, 1e-2, 1e-4};
  Index max_basis = 0;    // 0: no cap
  bool residual = false;  // minimise the Bellman residual
  double forgetting = 1;  // what the past keeps with each transition: the rest is a step back to the prior
  bool variance = false;  // keep the covariance of the values
  bool lspe = false;      // values by LSPE(lambda)
  bool fixed = false;     // no state becomes a kernel: the basis is given
  Index keep_last = 0;    // transitions kept as they came, for a refit without any

  // The names of all settings, for whoever moves them: visit(name, reference) for each.
  template <class Settings, class Visit>
  static void each(Settings& s, const Visit& visit) {
    visit("alpha", s.alpha);
    visit("discount", s.discount);
    visit("trace_decay", s.trace_decay);
    visit("novelty_tol", s.admission.novelty_tol);
    visit("usefulness_tol", s.admission.usefulness_tol);
    visit("admission", s.admission.rule);
    visit("max_basis", s.max_basis);
    visit("residual", s.residual);
    visit("forgetting", s.forgetting);
    visit("variance", s.variance);
    visit("lspe", s.lspe);
    visit("fixed", s.fixed);
    visit("keep_last", s.keep_last);
  }
};

// What `learn` reports: two events a transition, for s and for s', and whether it was learned.
struct LSTDLog {
  EventLog events;
  bool* learned;
};

// Transitions as a caller has them: S, S_next n x d; r, terminal, start n; weight n, or null for ones. All finite.
struct Transitions {
  Rows S;
  ConstVectorRef r;
  Rows S_next;
  const bool* terminal;
  const bool* start;
  const double* weight = nullptr;
};

// Sums over transitions with coordinates that are exact on the present dictionary.
struct TransitionSums {
  Matrix A, B, G, E;   // Z'H, W'W where the metric is wanted, and Z'Z, H'H where variances are
  Vector b, e, trace;  // Z'r, H'r, the last trace
  double rr = 0;
  bool fresh = true;  // the last transition was terminal
};

class KernelLSTD {
 public:
  KernelLSTD(Kernel kernel, const LSTDSettings& settings);

  const LSTDSettings& settings() const { return settings_; }
  const Dictionary& dictionary() const { return basis_.dictionary(); }  // ids: 2t for s of transition t, 2t + 1 for s'
  const Counters& counters() const { return journal_.counters(); }      // of states, two a transition
  std::int64_t transitions() const { return journal_.rows() / 2; }
  std::int64_t skipped() const { return skipped_; }  // transitions too near a singular P to be learned

  // weight: the importance of each transition, or null for ones.
  void learn(const Rows& S, const ConstVectorRef& r, const Rows& S_next, const bool* terminal, const bool* start,
             LSTDLog log, const double* weight = nullptr);
  // The transitions to come are of this environment, of several that run side by side: its trace goes on.
  void turn_to(Index environment);
  // One step back to the prior, where the past fades.
  void forget();
  // Kernels from given states, before any transition; those that lie in the span of others are left out.
  void seat(const Rows& S);
  // The solution for these transitions alone, by one dense solve on the present dictionary. False, and the model stays
  // as it was, where P is singular to working precision. The trace is that of the last of them, or as it was where they
  // are transitions of before.
  bool refit(const Transitions& rows, bool of_before = false);
  // The same for the transitions kept, each environment's in their order.
  bool refit_kept();
  Index kept() const { return kept_.size(); }
  // (b - A theta)'(W'W + alpha I)^-1 (b - A theta) / n: mean square of the projected temporal differences.
  double projected_error(const Transitions& rows) const;
  // alpha |C|_2, by the ridge at most 1 for a symmetric P. O(m^3).
  double ridge_norm() const;

  void predict(const Rows& S, RowsOut out) const;
  // Values and their variances.
  void predict(const Rows& S, RowsOut out, VectorRef variance) const;
  // Mean of the values under weights that add up to 1, and a bound of its variance: what lies outside the span is
  // counted as if it went the same way everywhere.
  std::pair<double, double> mean(const Rows& S, const ConstVectorRef& weights) const;
  auto theta() const { return settings_.lspe ? lspe_.theta() : theta_.head(basis_.size()); }  // the solution
  TransitionSums sums(const Transitions& rows, bool metric) const;
  double noise_variance() const { return variance_.noise(); }
  Vector coef() const;   // w = L^-T theta
  Vector trace() const;  // z on the kernels

  Arrays save() const;
  void load(const Arrays& arrays);

 private:
  // Coordinates of one transition, columns of `followers_`: they follow every change of the basis. Behind them the
  // traces of environments whose turn it is not.
  enum Follower : Index { kTrace, kDifference, kHere, kThere, kFollowers };
  auto follower(Follower which) { return followers_.col(which).head(basis_.size()); }
  auto z() { return follower(kTrace); }
  auto h() { return follower(kDifference); }
  // The newcomer's distance to the span and the coordinates of z and h along the direction it adds.
  struct Newcomer {
    double delta, s, here, there, z, h, schur, tau, usefulness;
  };

  void reserve(Index n);
  bool normal(double r);
  Event consider(Index which, Index row);
  Newcomer look_along(Index which, Index row, double delta);
  void transition_in_kernels();
  Index find_victim(const Newcomer& x);
  void grow(const Newcomer& x, Index which, Index row);
  void remove(Index i);
  void refresh_diagonal();

  // The transition at hand, once learned: u = Cz, v = C'h, 1 - h'u, r - h'theta.
  struct Transition {
    double discount = 0, reward = 0, left = 0, rho = 0, weight = 1;
    Vector u, v;
    Vector kernel_u, kernel_v;  // u and v in the kernels' own coordinates, while in_kernels
    bool in_kernels = false;
  };
  // d, the diagonal of P^-1, for the scores of a full dictionary.
  struct Diagonal {
    bool tracking = false;
    Vector values;
    Vector prior;        // of K^-1, where the past fades
    Index removals = 0;  // since it was computed from scratch
  };
  struct Work {
    Vector wb, vb, beta, scores, diagonal;
    Vector a;  // K^-1 k of the state that may become a kernel
    Matrix K, along;
    RowMatrix states;  // s and s' of the prepared transitions, by turns
    PreparedRows prepared;
    Panels newcomer;
  };

  struct Environments {
    bool fresh = true;  // of the present one: an episode has ended, or none has begun
    Index present = 0;
    std::vector<char> waiting;  // `fresh` of each, where it is not the present one
  };

  LSTDSettings settings_;
  Basis basis_;
  UnsymmetricInverse C_;
  Vector theta_;
  Matrix followers_;
  TargetMoments rewards_{1};
  Journal journal_;
  std::int64_t skipped_ = 0;
  Environments environments_;
  KeptRows kept_;
  ValueVariance variance_;
  PolicyEvaluation lspe_;
  Transition step_;
  Diagonal diagonal_;
  Work work_;
};

}  // namespace kernsift
