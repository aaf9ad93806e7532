// What either engine keeps for rows that come one at a time, and for its coefficients between them.
#pragma once

#include "core/kernel/dictionary.hpp"

namespace kernsift {

struct OneRow {
  void prepare(const Kernel& kernel, const ConstVectorRef& sample, PreparedRows& prepared) {
    x.resize(1, sample.size());
    x.row(0) = sample.transpose();
    kernel.prepare(x, prepared);
  }
  void set_target(const ConstVectorRef& target) {
    y.resize(1, target.size());
    y.row(0) = target.transpose();
    apriori.resize(1, target.size());
  }
  // k_m(x) of a prepared row.
  auto column(const Dictionary& dictionary, const PreparedRows& prepared, Index row) {
    if (k.size() < dictionary.padded()) k.resize(grown_capacity(k.size(), dictionary.padded()));
    dictionary.block(prepared, row, 1, Eigen::Map<Matrix>(k.data(), dictionary.padded(), 1));
    return k.head(dictionary.size());
  }
  // Room for the coordinates of a row, the padding of a kernel column included.
  MatrixRef coordinates(Index rows) {
    if (w.size() < rows) w.resize(grown_capacity(w.size(), rows));
    return Eigen::Map<Matrix, 0, Eigen::OuterStride<>>(w.data(), rows, 1, Eigen::OuterStride<>(w.size()));
  }

  RowMatrix x, y, apriori;
  Vector k, w;
};

// Coefficients of the kernels, computed once after rows were learned.
struct Coefficients {
  // compute(rows) fills in those of the kernels; behind them are zeros for the elements that fill the last panel.
  template <class Compute>
  ConstMatrixRef get(const Dictionary& dictionary, Index n_outputs, const Compute& compute) {
    const Index m = dictionary.size(), padded = dictionary.padded();
    if (!known) {
      if (values.rows() < padded || values.cols() != n_outputs)
        values.resize(grown_capacity(values.rows(), padded), n_outputs);
      compute(MatrixRef(values.topRows(m)));
      values.middleRows(m, padded - m).setZero();
      known = true;
    }
    return values.topRows(padded);
  }

  Matrix values;
  bool known = false;
};

}  // namespace kernsift
