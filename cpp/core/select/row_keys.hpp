// A number for each row that depends on its values and a seed alone: rows in the order of their keys are in a random
// order that is independent of the order they came in, and equal rows are neighbours.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/base/types.hpp"

namespace kernsift {

inline std::uint64_t row_key(const double* x, Index d, std::uint64_t seed) {
  std::uint64_t key = seed ^ 0x9e3779b97f4a7c15ULL;
  for (Index j = 0; j < d; ++j) {
    const double value = x[j] + 0.0;  // -0 is 0
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    key = (key ^ bits) * 0xd6e8feb86659fd93ULL;
    key ^= key >> 32;
  }
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ULL;  // SplitMix64's last steps
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebULL;
  return key ^ (key >> 31);
}

}  // namespace kernsift
