// A fuzzer's bytes as choices and numbers. Past their end everything is 0, so that a shorter input is a simpler one.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/types.hpp"

namespace kernsift::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

  bool more() const { return next_ < end_; }
  unsigned byte() { return more() ? *next_++ : 0u; }
  bool chance(unsigned of_256) { return byte() >= 256 - of_256; }
  Index below(Index n) { return static_cast<Index>(byte()) % n; }
  template <class T, std::size_t n>
  const T& one_of(const T (&things)[n]) {
    return things[byte() % n];
  }

  // Mostly one of a few, so that rows repeat; sometimes of any size up to 10^most either way.
  double number(int most) {
    const unsigned b = byte();
    if (b < 96) return (static_cast<double>(b) - 48.0) / 16.0;
    if (b < 200) return (static_cast<double>(b) - 148.0) / 300.0;
    const double sign = b % 2 ? 1.0 : -1.0, digits = 1.0 + static_cast<double>(byte()) / 256.0;
    return sign * digits * std::pow(10.0, most * (static_cast<double>(byte()) - 128.0) / 128.0);
  }
  double positive(int most) { return std::abs(number(most)) + std::pow(10.0, -most); }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

}  // namespace kernsift::fuzz
