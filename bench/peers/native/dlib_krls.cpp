// dlib::krls on a stream: a dictionary of CAP centres, then rows that repeat their neighbourhoods.
//   dlib_krls FILE N D GAMMA TOLERANCE CAP [TEST NTEST]
// prints CPU seconds a row after the first CAP rows, the centres, and with a second file its predictions for those rows.
#include <dlib/svm.h>

#include "rows.hpp"

int main(int argc, char** argv) {
  const Samples s = read_samples(argv[1], std::atol(argv[2]), std::atol(argv[3]));
  const long cap = std::atol(argv[6]);
  using Sample = dlib::matrix<double, 0, 1>;
  using Kernel = dlib::radial_basis_kernel<Sample>;
  dlib::krls<Kernel> model(Kernel(std::atof(argv[4])), std::atof(argv[5]), cap + 1);
  Sample x(s.d);
  double begin = 0;
  for (long t = 0; t < s.n; ++t) {
    if (t == cap) begin = cpu_seconds();
    for (long j = 0; j < s.d; ++j) x(j) = s.x[t * s.d + j];
    model.train(x, s.y[t]);
  }
  std::printf("%.9f %ld", (cpu_seconds() - begin) / (s.n - cap), model.dictionary_size());
  if (argc > 8) {
    const Samples test = read_samples(argv[7], std::atol(argv[8]), s.d);
    for (long t = 0; t < test.n; ++t) {
      for (long j = 0; j < s.d; ++j) x(j) = test.x[t * s.d + j];
      std::printf(" %.9g", model(x));
    }
  }
  std::printf("\n");
}
