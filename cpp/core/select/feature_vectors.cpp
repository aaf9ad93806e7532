#include "core/select/feature_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/base/interrupt.hpp"
#include "core/linalg/panel_factor.hpp"
#include "core/select/sampling.hpp"

namespace kernsift {

namespace {

constexpr Index kStrip = 64;  // candidates judged by one product

// Some patterns with their coordinates in the current span and their residuals.
struct Sample {
  std::vector<Index> patterns;
  PreparedRows rows;
  std::vector<const double*> known;  // the coordinates that the cache has
  Matrix W;                          // those that follow, one column a pattern
  Vector residual;                   // E_ii
  Index size() const { return static_cast<Index>(patterns.size()); }
  void reserve(Index rows_of_W, Index n) {
    if (W.rows() < rows_of_W || W.cols() < n)
      W.conservativeResize(std::max(rows_of_W, W.rows()), std::max(n, W.cols()));
    if (residual.size() < n) residual.conservativeResize(n);
  }
};

class Selection {
 public:
  Selection(SelectableRows& patterns, const ConstVectorRef& weight, const FeatureVectorSettings& settings)
      : patterns_(patterns),
        weight_(weight),
        set_(settings),
        random_(settings.seed),
        total_(sum_of(weight)),
        fresh_elements_(patterns.kernel().n_features()),
        scale_(Vector::Zero(patterns.size())) {
    for (Index i = 0; i < patterns.size(); ++i)
      if (const double k = patterns.self()[i]; k > 0) {  // the zero vector is in every span
        pool_.push_back(i);
        scale_[i] = weight_[i] / k;
      }
    for (const Index i : pool_) left_weight_ += weight_[i];
    error_ = left_weight_ / total_;
    limit_ = std::min<Index>(set_.max_basis, static_cast<Index>(pool_.size()));
    all_ = set_.n_candidates == 0 || set_.n_eval == 0;
    if (set_.form != SelectionForm::lazy) cache_.emplace(patterns, limit_);
    capacity_ = round_up(cache_ ? std::min(limit_, PanelFactor::kSteps) : limit_, kPanel);
  }

  FeatureVectors run() {
    while (size_ < limit_ && !stopped_ && step()) check_interrupt();
    flush();
    return std::move(result_);
  }

 private:
  bool eliminated(Index pattern, double residual) const {
    return !(residual >= set_.candidate_tol * patterns_.self()[pattern] && residual > 0);  // [EFVS eliminate]
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

  // Moves the drawn patterns that pass into the sample and takes the others out of the pool.
  void keep(Index& front, Index count, Sample& sample) {
    const Index have = sample.size();
    Index kept = 0;
    for (Index t = 0; t < count; ++t) {
      drawn_weight_ += weight_[fresh_[t]];
      drawn_error_ += scale_[fresh_[t]] * std::max(scratch_.residual[t], 0.0);
      kept += !eliminated(fresh_[t], scratch_.residual[t]);
    }
    if (have == 0 && kept == count) {  // nearly always
      std::swap(sample.W, scratch_.W);
      std::swap(sample.known, scratch_.known);
      std::swap(sample.residual, scratch_.residual);
      sample.patterns = fresh_;
      front += count;
      return;
    }
    sample.reserve(capacity_, have + count);
    sample.known.resize(have + count);
    kept = 0;
    for (Index t = 0; t < count; ++t) {
      const Index pattern = fresh_[t];
      if (eliminated(pattern, scratch_.residual[t])) {
        left_weight_ -= weight_[pattern];
        continue;
      }
      sample.W.col(have + kept).head(size_ - known()) = scratch_.W.col(t).head(size_ - known());
      sample.known[have + kept] = scratch_.known[t];
      sample.residual[have + kept] = scratch_.residual[t];
      sample.patterns.push_back(pattern);
      pool_[front + kept++] = pattern;
    }
    pool_.erase(pool_.begin() + front + kept, pool_.begin() + front + count);
    front += kept;
  }

  Index known() const { return cache_ ? cache_->size() : 0; }

  // Coordinates of the patterns listed in the current span, and what it leaves of them.
  void coordinates(const std::vector<Index>& list, Sample& out) {
    const Index n = static_cast<Index>(list.size()), m = size_ - known();
    out.reserve(capacity_, n);
    out.known.resize(n);
    for (Index t = 0; t < n; ++t) out.known[t] = cache_ ? cache_->data(list[t]) : out.W.col(t).data();
    prepared_ = m > 0;
    if (prepared_) {
      patterns_.prepare(list.data(), n, out.rows);
      patterns_.kernel().block(fresh_elements_, out.rows, 0, n, out.W);
      for (const PanelFactor& factor : factors_)
        factor.coordinates(out.known.data(), out.W.block(factor.before() - known(), 0, factor.padded(), n));
    }
    for (Index t = 0; t < n; ++t)
      out.residual[t] =
          (cache_ ? cache_->residual()[list[t]] : patterns_.self()[list[t]]) - out.W.col(t).head(m).squaredNorm();
  }

  // r in R with the largest gain on T; the first of equals.
  void choose(double drawn_from) {
    const Index m = size_ - known(), n_r = R_.size(), n_t = T_.size();
    Vector scale(n_t);
    columns_.resize(n_t);
    for (Index t = 0; t < n_t; ++t) scale[t] = scale_[T_.patterns[t]], columns_[t] = T_.W.col(t).data();
    double best = -1;
    Index r = 0;
    for (Index first = 0; first < n_r; first += kStrip) {
      const Index count = std::min(kStrip, n_r - first);
      if (count == n_r)
        strip_.elements = elements_of(patterns_.kernel(), R_.rows);
      else
        strip_.prepare_for(patterns_, R_.patterns.data() + first, count);
      if (E_.rows() < strip_.elements.padded() || E_.cols() < n_t) E_.resize(kStrip, n_t);
      patterns_.kernel().block(strip_.elements, T_.rows, 0, n_t, E_);
      // E = K - W_R'W_T
      old_.reset(count, known());
      new_.reset(count, m);
      for (Index i = 0; i < count; ++i) {
        for (Index k = 0; k < known(); ++k) old_(i, k) = -R_.known[first + i][k];
        for (Index k = 0; k < m; ++k) new_(i, k) = -R_.W(k, first + i);
      }
      old_.add_product(count, T_.known.data(), E_.leftCols(n_t));
      new_.add_product(count, columns_.data(), E_.leftCols(n_t));
      gains_.noalias() = E_.topLeftCorner(count, n_t).cwiseAbs2() * scale;
      for (Index i = 0; i < count; ++i) {
        const double gain = gains_[i] / R_.residual[first + i];  // [MATH 5.1]
        if (gain > best) best = gain, r = first + i;
      }
    }
    admit(r, best, drawn_from);
  }

  void admit(Index r, double gain, double drawn_from) {
    const Index pattern = R_.patterns[r], m = size_ - known();
    Vector w(size_);
    w.head(known()) = Eigen::Map<const Vector>(R_.known[r], known());
    w.tail(m) = R_.W.col(r).head(m);
    if (m % PanelFactor::kSteps == 0) {
      if (factors_.empty() || !cache_) factors_.emplace_back();
      factors_.back().begin(size_);
    }
    factors_.back().append(w, std::sqrt(R_.residual[r]));  // [MATH 1.5]
    PreparedRows row;
    patterns_.prepare(&pattern, 1, row);
    fresh_elements_.append(row.coordinates(0), row.norm(0));
    ++size_;
    result_.chosen.push_back(pattern);
    pool_.erase(std::find(pool_.begin(), pool_.end(), pattern));
    left_weight_ -= weight_[pattern];
    if (cache_) {
      if (fresh_elements_.size() == (all_ ? 1 : PanelFactor::kSteps) || size_ == limit_) flush();
      return;
    }
    // 1 - J over the patterns that may still be badly reconstructed, not over all of them
    const double mean = std::max(drawn_error_ - gain, 0.0) / drawn_weight_;
    record(mean * drawn_from / total_);  // [EFVS stop]
  }

  // Brings the coordinates of all patterns up to date; from them the exact error after each vector of the panel.
  void flush() {
    if (!cache_ || fresh_elements_.size() == 0) return;
    const Index count = fresh_elements_.size();
    const Vector gain = cache_->append(fresh_elements_, factors_, scale_);
    fresh_elements_.clear();
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
    void prepare_for(SelectableRows& patterns, const Index* list, Index n) {
      patterns.prepare(list, n, rows);
      elements = elements_of(patterns.kernel(), rows);
    }
  };

  SelectableRows& patterns_;
  ConstVectorRef weight_;
  FeatureVectorSettings set_;
  SplitMix64 random_;
  double total_, left_weight_ = 0, error_ = 1, drawn_weight_ = 0, drawn_error_ = 0;
  Index limit_ = 0, capacity_ = 0, size_ = 0;
  bool all_ = false, stopped_ = false, prepared_ = false;
  std::vector<Index> pool_, fresh_;
  std::optional<SelectableCoordinates> cache_;
  Panels fresh_elements_;             // the elements that the cache does not know
  std::vector<PanelFactor> factors_;  // their rows of the factor of the span
  Vector scale_;                      // v_i / k_ii
  Sample R_, T_, scratch_;
  Strip strip_;
  Matrix E_;
  PanelMatrix old_, new_;
  std::vector<const double*> columns_;
  Vector gains_;
  FeatureVectors result_;
};

// FVS: every pattern a candidate, judged on every pattern, from the residual kernel itself. Maximises J.
FeatureVectors dense_selection(SelectableRows& patterns, const ConstVectorRef& weight,
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
  const double total = sum_of(weight);
  for (Index i = 0; i < l; ++i)
    if (self[i] > 0) scale[i] = weight[i] / self[i], error += weight[i] / total;
  for (Index i = 0; i < l; ++i) gain[i] = (E.col(i).array().square() * scale.array()).sum();  // [EFVS 1]
  Eigen::VectorX<char> candidate(l);
  for (Index i = 0; i < l; ++i) candidate[i] = self[i] > 0;

  FeatureVectors result;
  while (static_cast<Index>(result.chosen.size()) < settings.max_basis) {
    check_interrupt();
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

FeatureVectors select_feature_vectors(SelectableRows& patterns, const ConstVectorRef& weight,
                                      const FeatureVectorSettings& settings) {
  if (settings.form == SelectionForm::dense) return dense_selection(patterns, weight, settings);
  return Selection(patterns, weight, settings).run();
}

double feature_vectors_memory(Index n, Index d, const FeatureVectorSettings& settings) {
  const double m = static_cast<double>(settings.max_basis), rows = static_cast<double>(n);
  // E; the rows as gathered, prepared and elements, and vectors
  if (settings.form == SelectionForm::dense) return rows * (rows + 8) + rows * (3.0 * d + 8);
  const auto drawn_of = [&](Index k) { return k > 0 ? static_cast<double>(k) : rows; };
  const bool cached = settings.form == SelectionForm::cached;
  const double drawn = std::max(drawn_of(settings.n_candidates), drawn_of(settings.n_eval)), known = cached ? 32.0 : m;
  // W and rows of R, of T and of what is drawn; E of a strip
  const double samples = 3 * drawn * (known + 3.0 * d) + 64 * drawn;
  // W of all rows, and the rows prepared; or the panels of L, each as long as there were kernels before it
  const double span = cached ? rows * (m + 9 + d) : 0.5 * m * m + m * d;
  return span + samples + 256 * m + 6 * rows;
}

}  // namespace kernsift
