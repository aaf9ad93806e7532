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
