// What the errors of the last rows tell of the next one. Where a stream moves in a way that its features do not show,
// its errors follow each other: a small least squares of the error of a row on three signs,
//
//   the last error, the mean of the last twenty, the last target less the prediction,
//
// with forgetting 0.998 and the ridge of five rows, foretells it, each output for itself. It is added to the
// predictions in the measure in which that would have lowered the squared errors of the last rows by more than a
// hundredth, of all outputs together: of many classes one alone would be trusted by chance. Outliers decide little: an
// error counts in proportion beyond five deviations, and no sign is larger than five of its own.
#pragma once

#include <vector>

#include "core/base/arrays.hpp"
#include "core/base/types.hpp"

namespace kernsift {

class ErrorForecast {
 public:
  static constexpr Index kSigns = 3;
  using Signs = Eigen::Matrix<double, kSigns, 1>;

  // Of a row: the prediction of the model, what there was then to tell its error from, and the error foretold.
  struct Said {
    static constexpr Index kNumbers = 2 + kSigns;
    double predicted = 0;
    Signs signs = Signs::Zero();
    double error = 0;

    void write(double* numbers) const;
    static Said read(const double* numbers);
  };

  // No outputs: nothing is foretold.
  explicit ErrorForecast(Index n_outputs) : outputs_(static_cast<std::size_t>(n_outputs)) {}
  bool on() const { return !outputs_.empty(); }

  Said say(Index output, double predicted) const;
  // The prediction and, as far as it is trusted, its error.
  double corrected(const Said& said) const { return said.predicted + trust_ * said.error; }
  // How many times as large errors were lately without this.
  double unaided(Index output) const;
  // The target of a row came; of the last output the trust follows.
  void learn(Index output, const Said& said, double target);

  // Where the next errors are not those of predictions (a second pass), nothing is learned.
  void pause(bool paused) { paused_ = paused; }

  void save(Arrays& arrays) const;
  void load(const Arrays& arrays);
  // What is saved with further outputs, whose targets and predictions were 0 so far.
  static Matrix with_outputs(const Matrix& state, Index count);

 private:
  struct Output {
    Eigen::Matrix<double, kSigns, kSigns> squares = Eigen::Matrix<double, kSigns, kSigns>::Zero();
    Signs products = Signs::Zero();
    double rows = 0;                          // counted, up to those of the memory
    double ordinary = 0;                      // mean square of errors, of outliers only in part
    double error_square = 0, gap_square = 0;  // mean squares of errors, and of the last target less the prediction
    double last_error = 0, mean_error = 0, last_target = 0;
    double plain = 0, corrected = 0;  // sums of squared errors without and with what was foretold
    // of the above
    Signs weights = Signs::Zero();
    double gain = 0;  // log likelihood of the errors that would have been, less that of those that were

    template <class Self, class Visit>
    static void each(Self& self, const Visit& visit);
    void conclude();
  };

  void judge();

  std::vector<Output> outputs_;
  double trust_ = 0;
  bool paused_ = false;
};

}  // namespace kernsift
