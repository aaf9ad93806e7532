// The exact reduction path of sparse_lssvm.hpp.
#include <algorithm>
#include <cmath>

#include "core/base/interrupt.hpp"
#include "core/batch/sparse_lssvm.hpp"
#include "core/kernel/kernel_span.hpp"
#include "core/ridge/leave_one_out.hpp"

namespace kernsift {

namespace {

constexpr std::size_t kPending = 32;  // removals that reach the rows together
// A diagonal entry of P^-1 that has fallen below this part of its last fresh value has lost that many digits to
// subtraction and is computed again.
constexpr double kStale = 1e-3;

class Reduction {
 public:
  Reduction(const SparseBasis& basis, SparseSolution start, const ConstVectorRef& v, const ConstVectorRef& part,
            const PruningOptions& options)
      : options_(options),
        ages_(basis.rows()),
        s_(std::move(start)),
        v_(v),
        width_(basis.size()),
        rows_(s_.residual.rows()),
        outputs_(s_.t.cols()) {
    span_.assign(s_.F);  // [MATH 6.3]: P = F F' takes the place of K = L L'
    s_.F.resize(0, 0);
    positions_.resize(width_);
    for (Index i = 0; i < width_; ++i) positions_[i] = i;
    work_.resize(width_);
    const Index panels = round_up(rows_, kRowPanel) / kRowPanel;
    weights_ = Vector::Zero(panels * kRowPanel);
    weights_.head(rows_) = v;
    slack_ = Vector::Ones(panels * kRowPanel);
    slack_.head(rows_) = s_.slack;
    part_ = Vector::Ones(panels * kRowPanel);
    part_.head(rows_) = part;
    errors_ = Matrix::Zero(panels * kRowPanel, outputs_);
    errors_.topRows(rows_) = s_.residual;
    if (options.by_cost) fresh_diagonal();
  }

  PruningPath run() {
    record();
    path_.loo[0] = (weights_.array() * errors_.array().square().rowwise().sum() /
                    slack_of_part(slack_.array(), part_.array()).square())
                       .sum();
    while (span_.size() > 1) {
      check_interrupt();
      const Index count = pruning_step(options_, span_.size());
      const std::vector<Index> victims = least_useful(scores(), ages_, count);
      for (const Index i : victims) remove(i);
      record();
      pending_.back().record = static_cast<Index>(path_.sizes.size()) - 1;
      if (pending_.size() >= kPending) reach_rows();
    }
    reach_rows();
    const Index records = static_cast<Index>(path_.sizes.size());
    path_.loo.conservativeResize(records);
    path_.loo /= v_.sum();
    path_.cost.conservativeResize(records, Eigen::NoChange);
    path_.intercept.conservativeResize(records, Eigen::NoChange);
    removed_.push_back(positions_.front());
    path_.order.assign(removed_.rbegin(), removed_.rend());
    return std::move(path_);
  }

 private:
  struct Removal {
    Rotations rotations;
    Index last;         // the coordinate that left
    Vector tau;         // its t, per output
    Index record = -1;  // the record whose rows are complete after it
  };

  // The part of F that begins with element j, and F' as an upper triangle.
  auto below(Index j) const {
    const Index rest = span_.size() - j;
    return span_.block().bottomRightCorner(rest, rest);
  }
  auto transposed() const { return span_.block().transpose(); }

  // |F^-1 e_j|^2
  double diagonal_entry(Index j) {
    auto x = work_.head(span_.size() - j);
    x.setZero();
    x[0] = 1.0;
    below(j).triangularView<Eigen::Lower>().solveInPlace(x);
    return x.squaredNorm();
  }

  void fresh_diagonal() {
    const Index n = span_.size();
    constexpr Index kBlock = 64;
    diagonal_.resize(n);
    Matrix columns;
    for (Index first = 0; first < n; first += kBlock) {
      const Index count = std::min(kBlock, n - first), rest = n - first;
      columns.setZero(rest, count);
      columns.topRows(count).setIdentity();
      below(first).triangularView<Eigen::Lower>().solveInPlace(columns);
      diagonal_.segment(first, count) = columns.colwise().squaredNorm();
    }
    fresh_ = diagonal_;
  }

  Vector scores() const {
    const Vector squares = beta_.rowwise().squaredNorm();
    if (!options_.by_cost) return squares;                          // the paper names no criterion; this is Suykens'
    return squares.array() / diagonal_.head(span_.size()).array();  // [MATH 6.3]
  }

  void remove(Index i) {
    const Index n = span_.size();
    if (options_.by_cost) {
      auto u = work_.head(n);  // P^-1 e_i = F^-T F^-1 e_i
      u.setZero();
      u[i] = 1.0;
      auto tail = u.tail(n - i);
      below(i).triangularView<Eigen::Lower>().solveInPlace(tail);
      transposed().triangularView<Eigen::Upper>().solveInPlace(u);
      diagonal_.head(n).array() -= u.array().square() / u[i];  // [JP 17] on the diagonal
      drop(diagonal_, i, n);
      drop(fresh_, i, n);
    }
    pending_.emplace_back();
    Removal& removal = pending_.back();
    span_.remove(i, removal.rotations);
    removal.rotations.rotate_rows(s_.t, 0);
    removal.last = n - 1;
    removal.tau = s_.t.row(n - 1).transpose();
    s_.cost += removal.tau.cwiseAbs2();  // [MATH 6.3]: exactly beta_i^2 / [H^-1]_ii
    s_.t.conservativeResize(n - 1, Eigen::NoChange);
    drop(s_.mean, i, n);
    removed_.push_back(positions_[i]);
    positions_.erase(positions_.begin() + i);
    ages_.erase(ages_.begin() + i);
    if (options_.by_cost)
      for (Index j = 0; j + 1 < n; ++j)
        if (!(diagonal_[j] > kStale * fresh_[j])) diagonal_[j] = fresh_[j] = diagonal_entry(j);
  }

  static void drop(Vector& x, Index i, Index n) {
    for (Index k = i; k + 1 < n; ++k) x[k] = x[k + 1];
  }

  void record() {
    const Index n = span_.size(), k = static_cast<Index>(path_.sizes.size());
    beta_ = s_.t;
    if (outputs_ == 1) {
      auto b = beta_.col(0);
      transposed().triangularView<Eigen::Upper>().solveInPlace(b);
    } else {
      transposed().triangularView<Eigen::Upper>().solveInPlace(beta_);
    }
    path_.sizes.push_back(n);
    if (path_.cost.rows() <= k) {
      const Index room = std::max<Index>(2 * k, 64);
      path_.cost.conservativeResize(room, outputs_);
      path_.intercept.conservativeResize(room, outputs_);
      path_.loo.conservativeResize(room);
      path_.loo.tail(room - k).setZero();
    }
    path_.cost.row(k) = s_.cost.transpose();
    path_.intercept.row(k) = s_.y_mean.transpose() - s_.mean.head(n).transpose() * beta_;
    for (Index i = 0; i < n; ++i)
      for (Index o = 0; o < outputs_; ++o) path_.coef.push_back(beta_(i, o));
  }

  // Takes the removed directions out of the rows: T <- T G, its last column g leaves, e <- e + g tau',
  // leverage <- leverage - v g^2. A panel of rows meets all pending removals while it is in cache.
  void reach_rows() {
    using Panel = Eigen::Array<double, kRowPanel, 1>;
    const Index panels = s_.directions.cols() / std::max<Index>(width_, 1);
    for (Index p = 0; p < panels; ++p) {
      double* const T = s_.directions.col(p * width_).data();
      const auto v = weights_.segment<kRowPanel>(p * kRowPanel).array();
      auto slack = slack_.segment<kRowPanel>(p * kRowPanel).array();
      const auto part = part_.segment<kRowPanel>(p * kRowPanel);
      auto e = errors_.middleRows<kRowPanel>(p * kRowPanel);
      for (const Removal& removal : pending_) {
        double* column = T + removal.rotations.first * kRowPanel;
        Panel carry = Eigen::Map<const Panel>(column);
        for (const Rotation& g : removal.rotations.chain) {
          const Panel next = Eigen::Map<const Panel>(column + kRowPanel);
          Eigen::Map<Panel>{column} = g.c * carry + g.s * next;
          carry = g.c * next - g.s * carry;
          column += kRowPanel;
        }
        slack += v * carry.square();
        for (Index o = 0; o < outputs_; ++o) e.col(o).array() += carry * removal.tau[o];
        if (removal.record >= 0)
          path_.loo[removal.record] +=
              (v * e.array().square().rowwise().sum() / slack_of_part(slack, part.array()).square()).sum();
      }
    }
    pending_.clear();
  }

  PruningOptions options_;
  std::vector<Index> ages_, positions_, removed_;
  SparseSolution s_;
  Vector v_;
  Index width_, rows_, outputs_;
  KernelSpan span_;  // of F
  Matrix beta_;
  Vector diagonal_, fresh_, work_, weights_, slack_, part_;
  Matrix errors_;
  std::vector<Removal> pending_;
  PruningPath path_;
};

}  // namespace

PruningPath isls_path(const SparseBasis& basis, SparseSolution start, const ConstVectorRef& v,
                      const ConstVectorRef& part, const PruningOptions& options) {
  return Reduction(basis, std::move(start), v, part, options).run();
}

}  // namespace kernsift
