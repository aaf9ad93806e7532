// Eigen's packets, as the few hand-written inner loops use them: as wide as the CPU level the file is built for.
#pragma once

#include <cmath>

#include "core/base/types.hpp"

namespace kernsift {

namespace simd = Eigen::internal;

using Packet = simd::packet_traits<double>::type;
constexpr int kLanes = simd::unpacket_traits<Packet>::size;

inline Packet splat(double x) { return simd::pset1<Packet>(x); }
inline Packet load(const double* x) { return simd::ploadu<Packet>(x); }
inline void store(double* x, const Packet& p) { simd::pstoreu(x, p); }

// Lanes of a packet, the first in the lowest bit; all of them, and those of the numbers first .. end - 1.
using Lanes = unsigned;
constexpr Lanes kAllLanes = (1u << kLanes) - 1;
inline Lanes lanes(Index first, Index end) {
  return (kAllLanes << first) & (end < kLanes ? (1u << end) - 1 : kAllLanes);
}

// Some lanes of memory, the others 0 and untouched; some lanes of a packet, the others 0.
#if defined(__AVX512F__)
inline Packet load(const double* x, Lanes some) { return _mm512_maskz_loadu_pd(static_cast<__mmask8>(some), x); }
inline void store(double* x, const Packet& p, Lanes some) { _mm512_mask_storeu_pd(x, static_cast<__mmask8>(some), p); }
inline Packet only(const Packet& p, Lanes some) { return _mm512_maskz_mov_pd(static_cast<__mmask8>(some), p); }
#elif defined(__AVX2__)
inline __m256i mask_of(Lanes some) {
  const __m256i bits = _mm256_set_epi64x(8, 4, 2, 1);
  return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(static_cast<long long>(some)), bits), bits);
}
inline Packet load(const double* x, Lanes some) { return _mm256_maskload_pd(x, mask_of(some)); }
inline void store(double* x, const Packet& p, Lanes some) { _mm256_maskstore_pd(x, mask_of(some), p); }
inline Packet only(const Packet& p, Lanes some) { return _mm256_and_pd(p, _mm256_castsi256_pd(mask_of(some))); }
#else
inline Packet load(const double* x, Lanes some) {
  double lane[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = (some >> l & 1) != 0 ? x[l] : 0.0;
  return load(lane);
}
inline void store(double* x, const Packet& p, Lanes some) {
  double lane[kLanes];
  store(lane, p);
  for (int l = 0; l < kLanes; ++l)
    if ((some >> l & 1) != 0) x[l] = lane[l];
}
inline Packet only(const Packet& p, Lanes some) {
  double lane[kLanes];
  store(lane, p);
  return load(lane, some);
}
#endif

// One lane of a packet in all of them.
template <int lane>
inline Packet spread(const Packet& p) {
#if defined(__AVX512F__)
  return _mm512_permutexvar_pd(_mm512_set1_epi64(lane), p);
#elif defined(__AVX2__)
  return _mm256_permute4x64_pd(p, lane * 0x55);
#elif defined(__SSE2__)
  return _mm_shuffle_pd(p, p, lane * 3);
#else
  double each[kLanes];
  store(each, p);
  return splat(each[lane]);
#endif
}

// a b + c as a packet rounds it: what is left over from a loop of packets gets the same bits in every shape of the
// loop.
inline double fused(double a, double b, double c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace kernsift
