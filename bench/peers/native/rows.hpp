// What the C++ rivals share: samples from a file of doubles, and the clock.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

struct Samples {
  long n, d;
  std::vector<double> x, y;
};

// `path`: n rows of d features, then n targets.
inline Samples read_samples(const char* path, long n, long d) {
  Samples s{n, d, std::vector<double>(n * d), std::vector<double>(n)};
  std::FILE* file = std::fopen(path, "rb");
  if (!file || std::fread(s.x.data(), 8, s.x.size(), file) != s.x.size() ||
      std::fread(s.y.data(), 8, s.y.size(), file) != s.y.size()) {
    std::fprintf(stderr, "cannot read %ld rows of %ld features from %s\n", n, d, path);
    std::exit(1);
  }
  std::fclose(file);
  return s;
}

inline double cpu_seconds() {
  std::timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
