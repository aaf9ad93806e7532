// Random draws that are the same on every platform: the generator is written out, not the library's.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace kernsift {

// SplitMix64 (Steele, Lea & Flood 2014): one word of state, every seed as good as another.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform on 0 .. n-1, for n < 2^32: the high half times n. Its bias is below n / 2^32.
  Index below(Index n) { return static_cast<Index>(((*this)() >> 32) * static_cast<std::uint64_t>(n) >> 32); }

 private:
  std::uint64_t state_;
};

// Moves min(n, size) elements drawn without replacement to the front of `pool` and returns how many.
template <class T>
Index draw(std::vector<T>& pool, Index n, SplitMix64& random) {
  const Index size = static_cast<Index>(pool.size());
  n = n < size ? n : size;
  for (Index t = 0; t < n; ++t) std::swap(pool[t], pool[t + random.below(size - t)]);
  return n;
}

}  // namespace kernsift
