#include "core/feature_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/sampling.hpp"
#include "core/span.hpp"

namespace kernsift {

namespace {

constexpr Index kPanelSteps = 32;  // vectors between two updates of all coordinates
constexpr Index kStrip = 64;       // candidates judged by one product

// Some patterns with their coordinates in the current span and their residuals.
struct Sample {
  std::vector<Index> patterns;
  PreparedRows rows;
  Matrix W;         // coordinates, one column a pattern
  Vector residual;  // E_ii
  Index size() const { return static_cast<Index>(patterns.size()); }
};

class Selection {
 public:
  Selection(Patterns& patterns, const ConstVectorRef& weight, const FeatureVectorSettings& settings)
      : patterns_(patterns),
        weight_(weight),
        set_(settings),
        random_(settings.seed),
        total_(weight.sum()),
        chosen_(patterns.kernel().n_features()),
        panel_(patterns.kernel().n_features()) {
    for (Index i = 0; i < patterns.size(); ++i)
      if (patterns.self()[i] > 0) pool_.push_back(i);  // the zero vector is in every span
    for (const Index i : pool_) left_weight_ += weight_[i];
    error_ = left_weight_ / total_;
    limit_ = std::min<Index>(set_.max_basis, static_cast<Index>(pool_.size()));
    all_ = set_.n_candidates == 0 || set_.n_eval == 0;
    if (set_.form != SelectionForm::lazy) cache_.emplace(patterns, limit_);
    span_.reserve(limit_);
  }

  FeatureVectors run() {
    while (span_.size() < limit_ && !stopped_ && step()) {
    }
    flush();
    return std::move(result_);
  }

 private:
  bool eliminated(Index pattern, double residual) const {
    return !(residual >= set_.candidate_tol * patterns_.self()[pattern] && residual > 0);
  }

  // False where no candidate is left.
  bool step() {
    draw_sample(set_.n_candidates, R_);
    if (R_.size() == 0) return false;
    const double drawn_from = left_weight_;
    drawn_weight_ = drawn_error_ = 0;  // the error is estimated on T, with those found spanned while it was drawn
    draw_sample(set_.n_eval, T_);
    choose(drawn_from);
    return true;
  }

  // n patterns that are not eliminated, without replacement (0: all of them).
  void draw_sample(Index n, Sample& sample) {
    const Index size = static_cast<Index>(pool_.size());
    const Index wanted = n == 0 ? size : std::min(n, size);
    sample.patterns.clear();
    Index front = 0, rounds = 0;  // pool_[0, front) has been drawn and stays
    for (; front < wanted && front < static_cast<Index>(pool_.size()); ++rounds) {
      const Index left = static_cast<Index>(pool_.size()) - front, count = std::min(wanted - front, left);
      if (n > 0)
        for (Index t = 0; t < count; ++t) std::swap(pool_[front + t], pool_[front + t + random_.below(left - t)]);
      fresh_.assign(pool_.begin() + front, pool_.begin() + front + count);
      coordinates(fresh_, scratch_);
      keep(front, count, sample);
    }
    if (prepared_ && rounds == 1 && sample.size() == static_cast<Index>(fresh_.size()))
      std::swap(sample.rows, scratch_.rows);  // drawn at once, and none of them was spanned
    else
      patterns_.prepare(sample.patterns.data(), sample.size(), sample.rows);
  }

  // Moves the drawn patterns that pass into the sample and takes the others out of the pool. [EFVS eliminate]
  void keep(Index& front, Index count, Sample& sample) {
    const Index m = span_.size(), have = sample.size();
    if (sample.W.rows() < m || sample.W.cols() < have + count) {
      sample.W.conservativeResize(std::max(m, sample.W.rows()), std::max(have + count, sample.W.cols()));
      sample.residual.conservativeResize(sample.W.cols());
    }
    Index kept = 0;
    for (Index t = 0; t < count; ++t) {
      const Index pattern = fresh_[t];
      drawn_weight_ += weight_[pattern];
      drawn_error_ += weight_[pattern] * std::max(scratch_.residual[t], 0.0) / patterns_.self()[pattern];
      if (eliminated(pattern, scratch_.residual[t])) continue;
      sample.W.col(have + kept).head(m) = scratch_.W.col(t).head(m);
      sample.residual[have + kept] = scratch_.residual[t];
      sample.patterns.push_back(pattern);
      pool_[front + kept++] = pattern;
    }
    for (Index t = 0; t < count; ++t)
      if (eliminated(fresh_[t], scratch_.residual[t])) left_weight_ -= weight_[fresh_[t]];
    if (kept < count) pool_.erase(pool_.begin() + front + kept, pool_.begin() + front + count);
    front += kept;
  }

  // Coordinates of the patterns listed in the current span, and what it leaves of them.
  void coordinates(const std::vector<Index>& list, Sample& out) {
    const Index m = span_.size(), n = static_cast<Index>(list.size()), known = cache_ ? cache_->size() : 0;
    if (out.W.rows() < m || out.W.cols() < n) out.W.resize(std::max(limit_, m), n);
    if (out.residual.size() < n) out.residual.resize(n);
    if (cache_)
      for (Index t = 0; t < n; ++t) out.W.col(t).head(known) = cache_->of(list[t]);
    prepared_ = m > known;
    if (prepared_) {
      patterns_.prepare(list.data(), n, out.rows);
      const Panels& elements = cache_ ? panel_ : chosen_;
      if (K_.rows() < elements.padded() || K_.cols() < n) K_.resize(round_up(limit_, kPanel) + kPanel, n);
      patterns_.kernel().block(elements, out.rows, 0, n, K_);
      auto W = out.W.block(known, 0, m - known, n);
      W = K_.topLeftCorner(m - known, n);
      const auto L = span_.block();
      if (known > 0) W.noalias() -= L.block(known, 0, m - known, known) * out.W.topLeftCorner(known, n);
      L.bottomRightCorner(m - known, m - known).triangularView<Eigen::Lower>().solveInPlace(W);
    }
    for (Index t = 0; t < n; ++t)
      out.residual[t] = (cache_ ? cache_->residual()[list[t]] : patterns_.self()[list[t]]) -
                        out.W.col(t).segment(known, m - known).squaredNorm();
  }

  // r in R with the largest gain on T [MATH 5.1]; the first of equals.
  void choose(double drawn_from) {
    const Index m = span_.size(), n_r = R_.size(), n_t = T_.size();
    Vector scale(n_t);
    for (Index t = 0; t < n_t; ++t) scale[t] = weight_[T_.patterns[t]] / patterns_.self()[T_.patterns[t]];
    double best = -1;
    Index r = 0;
    for (Index first = 0; first < n_r; first += kStrip) {
      const Index count = std::min(kStrip, n_r - first);
      if (count == n_r)
        strip_.elements = elements_of(patterns_.kernel(), R_.rows);
      else
        strip_.prepare_for(patterns_, R_.patterns.data() + first, count);
      Matrix& E = E_;
      if (E.rows() < strip_.elements.padded() || E.cols() < n_t) E.resize(kStrip, n_t);
      patterns_.kernel().block(strip_.elements, T_.rows, 0, n_t, E);
      auto part = E.topLeftCorner(count, n_t);
      if (m > 0) part.noalias() -= R_.W.block(0, first, m, count).transpose() * T_.W.topLeftCorner(m, n_t);
      gains_.noalias() = part.cwiseAbs2() * scale;
      for (Index i = 0; i < count; ++i) {
        const double gain = gains_[i] / R_.residual[first + i];
        if (gain > best) best = gain, r = first + i;
      }
    }
    admit(r, best, drawn_from);
  }

  void admit(Index r, double gain, double drawn_from) {
    const Index pattern = R_.patterns[r];
    const Vector w = R_.W.col(r).head(span_.size());
    span_.append(w, std::sqrt(R_.residual[r]));  // [MATH 1.5]
    PreparedRows row;
    patterns_.prepare(&pattern, 1, row);
    (cache_ ? panel_ : chosen_).append(row.coordinates(0), row.norm(0));
    result_.chosen.push_back(pattern);
    pool_.erase(std::find(pool_.begin(), pool_.end(), pattern));
    left_weight_ -= weight_[pattern];
    if (cache_) {
      if (panel_.size() == (all_ ? 1 : kPanelSteps) || span_.size() == limit_) flush();
      return;
    }
    // 1 - J over the patterns that may still be badly reconstructed, not over all of them [EFVS stop]
    const double mean = std::max(drawn_error_ - gain, 0.0) / drawn_weight_;
    record(mean * drawn_from / total_);
  }

  // Brings the coordinates of all patterns up to date; from them the exact error after each vector of the panel.
  void flush() {
    if (!cache_ || panel_.size() == 0) return;
    const Index first = cache_->size(), count = panel_.size();
    cache_->append(panel_, span_.block());
    Vector gain = Vector::Zero(count);
    for (Index i = 0; i < patterns_.size(); ++i)
      if (const double k = patterns_.self()[i]; k > 0)
        for (Index j = 0; j < count; ++j) gain[j] += weight_[i] / k * std::pow((*cache_)(first + j, i), 2);
    panel_ = Panels(patterns_.kernel().n_features());
    for (Index j = 0; j < count && !stopped_; ++j) {
      error_ -= gain[j] / total_;
      record(std::max(error_, 0.0));
    }
    result_.chosen.resize(result_.error.size());
  }

  void record(double error) {
    result_.error.push_back(error);
    stopped_ = stopped_ || error <= set_.reconstruction_tol;
  }

  struct Strip {
    PreparedRows rows;
    Panels elements{0};
    void prepare_for(Patterns& patterns, const Index* list, Index n) {
      patterns.prepare(list, n, rows);
      elements = elements_of(patterns.kernel(), rows);
    }
  };

  Patterns& patterns_;
  ConstVectorRef weight_;
  FeatureVectorSettings set_;
  SplitMix64 random_;
  double total_, left_weight_ = 0, error_ = 1, drawn_weight_ = 0, drawn_error_ = 0;
  Index limit_ = 0;
  bool all_ = false, stopped_ = false, prepared_ = false;
  std::vector<Index> pool_, fresh_;
  Span span_;
  Panels chosen_, panel_;
  std::optional<PatternCoordinates> cache_;
  Sample R_, T_, scratch_;
  Strip strip_;
  Matrix K_, E_;
  Vector gains_;
  FeatureVectors result_;
};

// FVS: every pattern a candidate, judged on every pattern, from the residual kernel itself. Maximises J [EFVS 1].
FeatureVectors dense_selection(Patterns& patterns, const ConstVectorRef& weight,
                               const FeatureVectorSettings& settings) {
  const Index l = patterns.size();
  const Vector& self = patterns.self();
  PreparedRows rows;
  patterns.prepare(Index{0}, l, rows);
  const Panels elements = elements_of(patterns.kernel(), rows);
  Matrix E(elements.padded(), l);
  patterns.kernel().block(elements, rows, 0, l, E);
  Vector scale = Vector::Zero(elements.padded()), gain = Vector::Zero(l), u = Vector::Zero(elements.padded());
  double error = 0;
  const double total = weight.sum();
  for (Index i = 0; i < l; ++i)
    if (self[i] > 0) scale[i] = weight[i] / self[i], error += weight[i] / total;
  for (Index i = 0; i < l; ++i) gain[i] = (E.col(i).array().square() * scale.array()).sum();
  std::vector<char> candidate(l);
  for (Index i = 0; i < l; ++i) candidate[i] = self[i] > 0;

  FeatureVectors result;
  while (static_cast<Index>(result.chosen.size()) < settings.max_basis) {
    Index r = -1;
    double best = -1;
    for (Index i = 0; i < l; ++i) {
      candidate[i] = candidate[i] && E(i, i) > 0 && E(i, i) >= settings.candidate_tol * self[i];
      if (candidate[i] && gain[i] / E(i, i) > best) best = gain[i] / E(i, i), r = i;
    }
    if (r < 0) break;
    candidate[r] = 0;
    u.head(l) = E.col(r).head(l) / std::sqrt(E(r, r));
    for (Index i = 0; i < l; ++i) {  // E <- E - uu', and the next gains, in one pass
      auto column = E.col(i).array();
      column -= u[i] * u.array();
      gain[i] = (column.square() * scale.array()).sum();
    }
    error -= best / total;
    result.chosen.push_back(r);
    result.error.push_back(std::max(error, 0.0));
    if (result.error.back() <= settings.reconstruction_tol) break;
  }
  return result;
}

}  // namespace

FeatureVectors select_feature_vectors(Patterns& patterns, const ConstVectorRef& weight,
                                      const FeatureVectorSettings& settings) {
  if (settings.form == SelectionForm::dense) return dense_selection(patterns, weight, settings);
  return Selection(patterns, weight, settings).run();
}

}  // namespace kernsift
