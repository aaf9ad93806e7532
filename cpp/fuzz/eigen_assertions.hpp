// Eigen's assertions (an index outside, sizes that do not match) in a build that has no others.
#pragma once

#include <cstdio>
#include <cstdlib>

#define eigen_assert(condition)                                                          \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: Eigen asserts %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
