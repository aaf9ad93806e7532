// dlib's linearly_independent_subset_finder: one pass that keeps the rows furthest from the span of the others.
//   dlib_subset FILE N D GAMMA SIZE   prints CPU seconds, how many rows are kept, and their coordinates
#include <dlib/svm.h>

#include "rows.hpp"

int main(int, char** argv) {
  const Samples s = read_samples(argv[1], std::atol(argv[2]), std::atol(argv[3]));
  using Sample = dlib::matrix<double, 0, 1>;
  using Kernel = dlib::radial_basis_kernel<Sample>;
  dlib::linearly_independent_subset_finder<Kernel> finder(Kernel(std::atof(argv[4])), std::atol(argv[5]), 1e-8);
  Sample x(s.d);
  const double begin = cpu_seconds();
  for (long t = 0; t < s.n; ++t) {
    for (long j = 0; j < s.d; ++j) x(j) = s.x[t * s.d + j];
    finder.add(x);
  }
  std::printf("%.9f %lu", cpu_seconds() - begin, finder.size());
  for (unsigned long i = 0; i < finder.size(); ++i)
    for (long j = 0; j < s.d; ++j) std::printf(" %.9g", finder[i](j));
  std::printf("\n");
}
