#include "core/kernel/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "core/kernel/expand_single.hpp"
#include "core/simd/exponential.hpp"

// Where the compiler inlines by itself depends on how many kernels there are; so it is stated: the value of a kernel
// into the tile, each kind of tile a function.
#define KERNSIFT_INLINE inline __attribute__((always_inline))

namespace kernsift {

namespace {

constexpr int kPackets = static_cast<int>(kPanel) / kLanes;  // packets a panel
static_assert(kPackets * kLanes == kPanel, "a panel is a whole number of packets");
// Rows and panels of a tile: its sums, the elements and one coordinate fill the registers (32 with AVX-512, 16
// without), so that arithmetic and not loading takes the time.
constexpr int kTilePanels = kPackets == 1 ? 3 : 1, kTileRows = kPackets == 1 ? 8 : 12 / kPackets;

// From here on |x|^2 + |x'|^2 - 2 x.x' would lose more than about 1e-13 of the exponent.
constexpr double kFarNorm = 256.0;
// In units of the width: rows further away are taken for this far, or sums of squares of differences would overflow.
constexpr double kBeyond = 1e150;
// --- what is summed over the features -------------------------------------------------------------------------

struct Dot {
  static Packet add(const Packet& a, const Packet& b, const Packet& sum) { return simd::pmadd(a, b, sum); }
};
struct SquaredDifference {
  static Packet add(const Packet& a, const Packet& b, const Packet& sum) {
    const Packet diff = simd::psub(a, b);
    return simd::pmadd(diff, diff, sum);
  }
};
struct AbsoluteDifference {
  static Packet add(const Packet& a, const Packet& b, const Packet& sum) {
    return simd::padd(simd::pabs(simd::psub(a, b)), sum);
  }
};

// --- what is made of the sum ----------------------------------------------------------------------------------

// Squared distance from an inner product; the norms are summed like the product, so that equal samples give 0.
struct FromDot {
  using Sum = Dot;
  static Packet distance(const Packet& sum, const Packet& norm_a, const Packet& norm_b) {
    const Packet d2 = simd::pmadd(splat(-2.0), sum, simd::padd(norm_a, norm_b));
    return simd::pmax(d2, simd::pzero(d2));
  }
};
struct FromDifferences {
  using Sum = SquaredDifference;
  static Packet distance(const Packet& sum, const Packet&, const Packet&) { return sum; }
};

// Keeps the polynomial factor of a Matern kernel finite where its exponential is 0 already.
Packet near(const Packet& d2) { return simd::pmin(d2, splat(1e6)); }

template <class Distance>
struct Rbf {
  using Sum = typename Distance::Sum;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet& norm_a, const Packet& norm_b) const {
    return exp_to_zero(simd::pnegate(Distance::distance(sum, norm_a, norm_b)));
  }
};

template <class Distance>
struct Matern32 {
  using Sum = typename Distance::Sum;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet& norm_a, const Packet& norm_b) const {
    const Packet s = simd::psqrt(simd::pmul(splat(3.0), near(Distance::distance(sum, norm_a, norm_b))));
    return simd::pmul(simd::padd(splat(1.0), s), exp_to_zero(simd::pnegate(s)));
  }
};

template <class Distance>
struct Matern52 {
  using Sum = typename Distance::Sum;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet& norm_a, const Packet& norm_b) const {
    const Packet s2 = simd::pmul(splat(5.0), near(Distance::distance(sum, norm_a, norm_b)));
    const Packet s = simd::psqrt(s2);
    const Packet factor = simd::padd(splat(1.0), simd::pmadd(s2, splat(1.0 / 3.0), s));
    return simd::pmul(factor, exp_to_zero(simd::pnegate(s)));
  }
};

// Minus the derivatives of the Matern kernels with regard to r2. Those of rbf and laplacian are the kernels.
template <class Distance>
struct Matern32Slope {
  using Sum = typename Distance::Sum;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet& norm_a, const Packet& norm_b) const {
    const Packet s = simd::psqrt(simd::pmul(splat(3.0), near(Distance::distance(sum, norm_a, norm_b))));
    return simd::pmul(splat(1.5), exp_to_zero(simd::pnegate(s)));
  }
};

template <class Distance>
struct Matern52Slope {
  using Sum = typename Distance::Sum;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet& norm_a, const Packet& norm_b) const {
    const Packet s = simd::psqrt(simd::pmul(splat(5.0), near(Distance::distance(sum, norm_a, norm_b))));
    const Packet factor = simd::pmul(splat(5.0 / 6.0), simd::padd(splat(1.0), s));
    return simd::pmul(factor, exp_to_zero(simd::pnegate(s)));
  }
};

struct Laplacian {
  using Sum = AbsoluteDifference;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet&, const Packet&) const {
    return exp_to_zero(simd::pnegate(sum));
  }
};

struct Linear {
  using Sum = Dot;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet&, const Packet&) const { return sum; }
};

struct Polynomial {
  using Sum = Dot;
  explicit Polynomial(const Kernel& kernel) : degree(kernel.degree()), coef0(kernel.coef0()) {}
  int degree;
  double coef0;
  KERNSIFT_INLINE Packet operator()(const Packet& sum, const Packet&, const Packet&) const {
    Packet base = simd::padd(sum, splat(coef0));
    Packet power = splat(1.0);
    for (int n = degree; n > 0; n >>= 1) {  // by squaring
      if (n & 1) power = simd::pmul(power, base);
      base = simd::pmul(base, base);
    }
    return power;
  }
};

// --- one tile: P panels x R rows ------------------------------------------------------------------------------

// values[r][q] = kernel of row r with packet q of the panels.
template <int P, int R, class Value>
KERNSIFT_INLINE void tile(const Value& value, const Panels& elements, Index first_panel, const PreparedRows& rows,
                          Index first_row, Index n_features, Packet (&values)[R][P * kPackets]) {
  constexpr int Q = P * kPackets;
  const double* panel = elements.panel(first_panel);
  const double* x[R];
  for (int r = 0; r < R; ++r) x[r] = rows.coordinates(first_row + r);
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < Q; ++q) values[r][q] = splat(0.0);
  Index j = 0;
  do {  // a kernel has a feature
    Packet element[Q];
    for (int p = 0; p < P; ++p)
      for (int q = 0; q < kPackets; ++q)
        element[p * kPackets + q] = simd::ploadu<Packet>(panel + (p * n_features + j) * kPanel + q * kLanes);
    for (int r = 0; r < R; ++r) {
      const Packet xj = splat(x[r][j]);
      for (int q = 0; q < Q; ++q) values[r][q] = Value::Sum::add(element[q], xj, values[r][q]);
    }
  } while (++j < n_features);
  for (int r = 0; r < R; ++r) {
    const Packet norm = splat(rows.norm(first_row + r));
    for (int q = 0; q < Q; ++q)
      values[r][q] = value(values[r][q], simd::ploadu<Packet>(elements.norms(first_panel) + q * kLanes), norm);
  }
}

// Walks all tiles of (elements x rows [first, first + count)); rows outside or panels outside, as the sink is ordered.
template <class Near, class Far, class Sink>
class Walk {
 public:
  Walk(const Near& near, const Far& far, const Panels& elements, const PreparedRows& rows, Index n_features, Sink& sink)
      : near_(near), far_(far), elements_(elements), rows_(rows), n_features_(n_features), sink_(sink) {}

  void run(Index first, Index count) {
    Index r = 0;
    for (; r + kTileRows <= count; r += kTileRows)
      if (any_far(first + r)) {
        for (int i = 0; i < kTileRows; ++i) one_row(first + r + i, r + i);
      } else {
        panels<kTileRows>(near_, first + r, r);
      }
    for (; r < count; ++r) one_row(first + r, r);
  }

 private:
  bool any_far(Index row) const {
    for (int i = 0; i < kTileRows; ++i)
      if (rows_.far(row + i)) return true;
    return false;
  }
  void one_row(Index row, Index out_row) {
    if (rows_.far(row))
      panels<1>(far_, row, out_row);
    else
      panels<1>(near_, row, out_row);
  }
  template <int R, class Value>
  void panels(const Value& value, Index row, Index out_row) {
    sink_.template open<R>(out_row);
    Index p = 0;
    constexpr int P = R == 1 ? 4 : kTilePanels;  // a single row needs several panels at once to hide the latency
    if constexpr (P > 1)
      for (; p + P <= elements_.n_panels(); p += P) step<P, R>(value, p, row, out_row);
    for (; p < elements_.n_panels(); ++p) step<1, R>(value, p, row, out_row);
    sink_.template close<R>(out_row);
  }
  template <int P, int R, class Value>
  __attribute__((noinline)) void step(const Value& value, Index p, Index row, Index out_row) {
    Packet values[R][P * kPackets];
    tile<P, R>(value, elements_, p, rows_, row, n_features_, values);
    sink_.template take<P, R>(values, p, out_row);
  }

  const Near& near_;
  const Far& far_;
  const Panels& elements_;
  const PreparedRows& rows_;
  Index n_features_;
  Sink& sink_;
};

struct Store {
  double* out;
  Index stride;
  template <int R>
  void open(Index) {}
  template <int R>
  void close(Index) {}
  template <int P, int R>
  void take(const Packet (&values)[R][P * kPackets], Index panel, Index row) {
    for (int r = 0; r < R; ++r)
      for (int q = 0; q < P * kPackets; ++q)
        simd::pstoreu(out + (row + r) * stride + panel * kPanel + q * kLanes, values[r][q]);
  }
};

// Multiplies each tile by the coefficients at once. Sums are kept lane by lane over the panels, so that the order
// of the summation is the same for every row, tile and thread.
struct Contract {
  const ConstMatrixRef& coef;
  const ConstVectorRef& intercept;
  RowsOut& out;
  std::vector<double>& sums;  // [output][row of the tile][kPanel]

  template <int R>
  void open(Index) {
    std::fill_n(sums.begin(), coef.cols() * R * kPanel, 0.0);
  }
  template <int P, int R>
  void take(const Packet (&values)[R][P * kPackets], Index panel, Index) {
    for (Index o = 0; o < coef.cols(); ++o) {
      const double* c = coef.col(o).data() + panel * kPanel;
      double* s = sums.data() + o * R * kPanel;
      for (int r = 0; r < R; ++r)
        for (int q = 0; q < kPackets; ++q) {
          Packet sum = simd::ploadu<Packet>(s + r * kPanel + q * kLanes);
          for (int p = 0; p < P; ++p)  // the same lane of every panel, in order
            sum = simd::pmadd(simd::ploadu<Packet>(c + p * kPanel + q * kLanes), values[r][p * kPackets + q], sum);
          simd::pstoreu(s + r * kPanel + q * kLanes, sum);
        }
    }
  }
  template <int R>
  void close(Index row) {
    for (Index o = 0; o < coef.cols(); ++o)
      for (int r = 0; r < R; ++r) {
        const double* s = sums.data() + (o * R + r) * kPanel;
        out(row + r, o) = intercept[o] + (((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])));
      }
  }
};

template <class Value>
Value value_of(const Kernel& kernel) {
  if constexpr (std::is_constructible_v<Value, const Kernel&>)
    return Value(kernel);
  else
    return Value{};
}

template <class Near, class Far, class Sink>
void walk(const Kernel& kernel, const Panels& elements, const PreparedRows& rows, Index first, Index count,
          Sink& sink) {
  const Near near = value_of<Near>(kernel);
  const Far far = value_of<Far>(kernel);
  Walk<Near, Far, Sink>(near, far, elements, rows, kernel.n_features(), sink).run(first, count);
}

// The functions of a row of the table: Near for rows near the centre, Far for those where that form would cancel.
template <class Near, class Far = Near>
void block_of(const Kernel& kernel, const Panels& elements, const PreparedRows& rows, Index first, Index count,
              MatrixRef out) {
  Store sink{out.data(), out.outerStride()};
  walk<Near, Far>(kernel, elements, rows, first, count, sink);
}

template <class Near, class Far = Near>
void expand_of(const Kernel& kernel, const Panels& elements, const ConstMatrixRef& coef,
               const ConstVectorRef& intercept, const PreparedRows& rows, Index first, Index count, RowsOut out) {
  std::vector<double> sums(coef.cols() * kTileRows * kPanel);
  Contract sink{coef, intercept, out, sums};
  walk<Near, Far>(kernel, elements, rows, first, count, sink);
}

// Sums of squares of R rows over the features in the order and with the instructions of `tile`.
template <int R>
void norms_like_dots(const double* x, Index n, double* out) {
  Packet sums[R];
  for (int r = 0; r < R; ++r) sums[r] = splat(0.0);
  for (Index j = 0; j < n; ++j)
    for (int r = 0; r < R; ++r) sums[r] = Dot::add(splat(x[r * n + j]), splat(x[r * n + j]), sums[r]);
  for (int r = 0; r < R; ++r) out[r] = simd::pfirst(sums[r]);
}

}  // namespace

const std::vector<KernelRow>& kernel_table() {
  using Near32 = Matern32<FromDot>;
  using Far32 = Matern32<FromDifferences>;
  using Near52 = Matern52<FromDot>;
  using Far52 = Matern52<FromDifferences>;
  // Exponentials are minus their own derivative: the slope of rbf and laplacian is their value.
  static const std::vector<KernelRow> table = {
      {KernelKind::rbf, "rbf", KernelSum::squares, true, block_of<Rbf<FromDot>, Rbf<FromDifferences>>,
       expand_of<Rbf<FromDot>, Rbf<FromDifferences>>, block_of<Rbf<FromDot>, Rbf<FromDifferences>>, true,
       single_values::exponential, true, true, true},
      {KernelKind::laplacian, "laplacian", KernelSum::absolutes, true, block_of<Laplacian>, expand_of<Laplacian>,
       block_of<Laplacian>, false, single_values::exponential, true, true, false},
      {KernelKind::matern32, "matern32", KernelSum::squares, true, block_of<Near32, Far32>, expand_of<Near32, Far32>,
       block_of<Matern32Slope<FromDot>, Matern32Slope<FromDifferences>>, true, single_values::matern32, true, true,
       false},
      {KernelKind::matern52, "matern52", KernelSum::squares, true, block_of<Near52, Far52>, expand_of<Near52, Far52>,
       block_of<Matern52Slope<FromDot>, Matern52Slope<FromDifferences>>, true, single_values::matern52, true, true,
       false},
      {KernelKind::polynomial, "polynomial", KernelSum::products, true, block_of<Polynomial>, expand_of<Polynomial>,
       nullptr, false, single_values::polynomial, true, true, true},
      {KernelKind::linear, "linear", KernelSum::products, false, block_of<Linear>, expand_of<Linear>, nullptr, false,
       single_values::linear, true, true, true},
  };
  return table;
}

namespace {
const KernelRow* row_of(KernelKind kind) {
  for (const KernelRow& row : kernel_table())
    if (row.kind == kind) return &row;
  throw std::invalid_argument("this kind of kernel is unknown");
}
}  // namespace

KernelKind kernel_kind(const std::string& name) {
  for (const KernelRow& row : kernel_table())
    if (name == row.name) return row.kind;
  throw std::invalid_argument("kernel '" + name + "' is unknown");
}

Kernel::Kernel(KernelKind kind, Vector gamma, int degree, double coef0, Vector centre, Warp warp)
    : row_(row_of(kind)),
      gamma_(std::move(gamma)),
      centre_(std::move(centre)),
      warp_(std::move(warp)),
      degree_(degree),
      coef0_(coef0) {
  if (gamma_.size() < 1 || gamma_.size() != centre_.size())
    throw std::invalid_argument("gamma and centre must have one entry per feature");
  if (row_->gamma && !((gamma_.array() >= 0).all() && gamma_.allFinite() && gamma_.maxCoeff() > 0))
    throw std::invalid_argument("gamma must be finite, non-negative and not all zero");
  constexpr int kLargestDegree =
      1000;  // exports multiply so often; base^1000 has left a double unless the base is near 1
  if (kind == KernelKind::polynomial &&
      (degree_ < 1 || degree_ > kLargestDegree || !(coef0_ >= 0) || !std::isfinite(coef0_)))
    throw std::invalid_argument("a polynomial kernel needs a degree from 1 to 1000 and a finite coef0 >= 0");
  if (!centre_.allFinite()) throw std::invalid_argument("centre must be finite");
  scale_ = Vector::Ones(gamma_.size());
  if (row_->gamma) scale_ = row_->sum == KernelSum::absolutes ? gamma_ : Vector(gamma_.cwiseSqrt());
  if (!stationary()) centre_.setZero();  // an inner product has its own origin
  origin_ = centre_;
  if (warp_.none()) return;
  if (!stationary())
    throw std::invalid_argument("gamma: a warp needs a stationary kernel, not " + std::string(row_->name));
  if (warp_.n_features() != n_features())
    throw std::invalid_argument("the warp is of " + std::to_string(warp_.n_features()) + " features and gamma of " +
                                std::to_string(n_features()));
  warp_.values(centre_.data(), origin_.data());
}

void Kernel::prepare(const Rows& X, PreparedRows& out) const {
  const Index n = X.rows(), d = n_features();
  const bool measured = stationary();  // from the centre
  out.resize(n, d);
  for (Index r = 0; r < n; ++r) {
    const double* x = X.data() + r * X.outerStride();
    double* z = out.coordinates_.data() + r * d;
    if (!warp_.none()) {
      warp_.values(x, z);
      x = z;
    }
    for (Index j = 0; j < d; ++j) z[j] = (x[j] - origin_[j]) * scale_[j];
    if (measured)
      for (Index j = 0; j < d; ++j) z[j] = std::max(-kBeyond, std::min(kBeyond, z[j]));
  }
  const double* z = out.coordinates_.data();
  Index r = 0;
  for (; r + 4 <= n; r += 4) norms_like_dots<4>(z + r * d, d, &out.norms_[r]);
  for (; r < n; ++r) norms_like_dots<1>(z + r * d, d, &out.norms_[r]);
  for (r = 0; r < n; ++r) out.far_[r] = measured && !(out.norms_[r] <= kFarNorm);
}

double Kernel::self(double norm) const {
  if (stationary()) return 1.0;
  if (kind() == KernelKind::linear) return norm;
  return simd::pfirst(Polynomial(*this)(splat(norm), splat(0.0), splat(0.0)));
}

void Kernel::slope(const Panels& elements, const PreparedRows& rows, Index first, Index count, MatrixRef out) const {
  if (!row_->slope) throw std::invalid_argument("a gradient with regard to gamma needs a stationary kernel");
  row_->slope(*this, elements, rows, first, count, out);
}

}  // namespace kernsift
