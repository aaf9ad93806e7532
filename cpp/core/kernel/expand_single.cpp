#include "core/kernel/expand_single.hpp"

#include <algorithm>

#include "core/base/parallel.hpp"
#include "core/simd/packets.hpp"

namespace kernsift {

namespace single_values {

void exponential(const Kernel&, Eigen::ArrayXXf& K) { K = (-K).exp(); }

void matern32(const Kernel&, Eigen::ArrayXXf& K) {
  K = (3.0f * K).sqrt();
  K = (1.0f + K) * (-K).exp();
}

void matern52(const Kernel&, Eigen::ArrayXXf& K) {
  K = (5.0f * K).sqrt();
  K = (1.0f + K + K.square() / 3.0f) * (-K).exp();
}

void polynomial(const Kernel& kernel, Eigen::ArrayXXf& K) {
  K += static_cast<float>(kernel.coef0());
  const Eigen::ArrayXXf base = K;
  for (int power = 1; power < kernel.degree(); ++power) K *= base;
}

void linear(const Kernel&, Eigen::ArrayXXf&) {}

}  // namespace single_values

namespace {
using Singles = simd::packet_traits<float>::type;
constexpr int kSingles = simd::unpacket_traits<Singles>::size;
// Rows and packets of vectors whose sums fill the registers, 32 with AVX-512.
constexpr int kSingleRows = kSingles == 16 ? 8 : 6, kSinglePackets = kSingles == 16 ? 3 : 2;
// Rows whose values are kept at a time: in the first cache up to some 500 kernels.
constexpr Index kSingleTile = 24;
static_assert(kSingleTile % kSingleRows == 0, "a tile is a whole number of groups of rows");

// sums(i, r) over the features for P packets of vectors and kSingleRows rows; `vectors` as in the class, z features x
// rows.
template <bool products, int P>
void single_sums(const float* vectors, const float* z, Index features, float* sums, Index stride) {
  Singles sum[kSingleRows][P];
  for (int r = 0; r < kSingleRows; ++r)
    for (int p = 0; p < P; ++p) sum[r][p] = simd::pset1<Singles>(0.0f);
  for (Index j = 0; j < features; ++j) {
    Singles x[P];
    for (int p = 0; p < P; ++p) x[p] = simd::ploadu<Singles>(vectors + (p * features + j) * kSingles);
    for (int r = 0; r < kSingleRows; ++r) {
      const Singles zj = simd::pset1<Singles>(z[r * features + j]);
      for (int p = 0; p < P; ++p) {
        if constexpr (products)
          sum[r][p] = simd::pmadd(x[p], zj, sum[r][p]);
        else
          sum[r][p] = simd::padd(simd::pabs(simd::psub(x[p], zj)), sum[r][p]);
      }
    }
  }
  for (int r = 0; r < kSingleRows; ++r)
    for (int p = 0; p < P; ++p) simd::pstoreu(sums + r * stride + p * kSingles, sum[r][p]);
}

template <bool products>
void single_tile(const Eigen::ArrayXXf& vectors, const Eigen::MatrixXf& z, Eigen::ArrayXXf& sums) {
  const Index features = z.rows(), packets = sums.rows() / kSingles;
  for (Index r = 0; r < z.cols(); r += kSingleRows) {
    const float* rows = z.col(r).data();
    Index p = 0;
    for (; p + kSinglePackets <= packets; p += kSinglePackets)
      single_sums<products, kSinglePackets>(vectors.col(p * features).data(), rows, features, &sums(p * kSingles, r),
                                            sums.rows());
    for (; p < packets; ++p)
      single_sums<products, 1>(vectors.col(p * features).data(), rows, features, &sums(p * kSingles, r), sums.rows());
  }
}

constexpr double kFarSingle = 64.0;     // 6e-8 of it is 4e-6 of the exponent
constexpr double kBeyondSingle = 1e30;  // a squared distance: every stationary kernel is 0 so far away
}  // namespace

SingleExpansion::SingleExpansion(const Kernel& kernel, const Rows& vectors, const ConstMatrixRef& coef,
                                 const ConstVectorRef& intercept)
    : kernel_(kernel), panels_(kernel.n_features()), coef_(coef), intercept_(intercept) {
  const Index m = vectors.rows(), d = kernel.n_features();
  PreparedRows prepared;
  kernel_.prepare(vectors, prepared);
  panels_.reserve(m);
  vectors_ = Tile::Zero(kSingles, round_up(m, kSingles) / kSingles * d);
  norms_ = Eigen::ArrayXf::Zero(round_up(m, kSingles));
  for (Index i = 0; i < m; ++i) {
    panels_.append(prepared.coordinates(i), prepared.norm(i));
    auto vector = vectors_.row(i % kSingles).segment(i / kSingles * d, d);
    for (Index j = 0; j < d; ++j) vector[j] = static_cast<float>(prepared.coordinates(i)[j]);
    norms_[i] = static_cast<float>(prepared.norm(i));
    if (kernel.row().sum == KernelSum::squares && !(prepared.norm(i) <= kBeyondSingle)) {
      vector.setZero();  // products with its coordinates would overflow
      norms_[i] = static_cast<float>(kBeyondSingle);
    }
  }
  padded_ = Matrix::Zero(panels_.padded(), coef_.cols());
  padded_.topRows(m) = coef_;
}

void SingleExpansion::kernel_values(const Eigen::MatrixXf& z, const Eigen::RowVectorXf& norm, Tile& K) const {
  if (kernel_.row().sum == KernelSum::absolutes) {
    single_tile<false>(vectors_, z, K);
  } else {
    single_tile<true>(vectors_, z, K);
    if (kernel_.stationary())
      for (Index r = 0; r < z.cols(); ++r)
        K.col(r) = (norms_ + norm[r] - 2.0f * K.col(r)).max(0.0f);  // squared distances
  }
  kernel_.row().single(kernel_, K);
}

void SingleExpansion::evaluate(const SingleRows& X, SingleRowsOut out, Index threads) const {
  constexpr Index kPart = 32 * kSingleTile;
  parallel_for((X.rows() + kPart - 1) / kPart, static_cast<int>(threads), [&](Index part) {
    const Index begin = part * kPart, n = std::min(kPart, X.rows() - begin);
    evaluate_part(X.middleRows(begin, n), out.middleRows(begin, n));
  });
}

void SingleExpansion::evaluate_part(const SingleRows& X, SingleRowsOut out) const {
  const Index m = coef_.rows(), c = coef_.cols();
  RowMatrix rows(kSingleTile, X.cols()), one(1, c);
  PreparedRows prepared;
  Eigen::MatrixXf z(X.cols(), kSingleTile);
  Eigen::RowVectorXf norm(kSingleTile);
  Tile K(norms_.size(), kSingleTile);
  Vector values(m);
  z.setZero();  // a short tile is evaluated whole
  norm.setZero();
  for (Index first = 0; first < X.rows(); first += kSingleTile) {
    const Index n = std::min(kSingleTile, X.rows() - first);
    rows.topRows(n) = X.middleRows(first, n).cast<double>();
    kernel_.prepare(rows.topRows(n), prepared);
    for (Index r = 0; r < n; ++r) {
      z.col(r) = Eigen::Map<const Vector>(prepared.coordinates(r), X.cols()).cast<float>();
      norm[r] = static_cast<float>(prepared.norm(r));
    }
    const bool single = kernel_.row().single != nullptr;
    if (single) kernel_values(z, norm, K);
    for (Index r = 0; r < n; ++r) {
      if (single) {
        const float* k = K.col(r).data();
        for (Index i = 0; i < m; ++i) values[i] = k[i];
        for (Index o = 0; o < c; ++o) out(first + r, o) = static_cast<float>(intercept_[o] + values.dot(coef_.col(o)));
      }
      if (!single || (kernel_.stationary() && !(prepared.norm(r) <= kFarSingle))) {
        kernel_.expand(panels_, padded_, intercept_, prepared, r, 1, one);
        out.row(first + r) = one.row(0).cast<float>();
      }
    }
  }
}

}  // namespace kernsift
