#include "core/stream/wider_state.hpp"

namespace kernsift {

namespace {

Matrix with_columns(const Matrix& values, Index place, Index count) {
  Matrix wider = Matrix::Zero(values.rows(), values.cols() + count);
  wider.leftCols(place) = values.leftCols(place);
  wider.rightCols(values.cols() - place) = values.rightCols(values.cols() - place);
  return wider;
}

Matrix with_rows(const Matrix& values, Index count) {
  Matrix longer = Matrix::Zero(values.rows() + count, values.cols());
  longer.topRows(values.rows()) = values;
  return longer;
}

}  // namespace

Arrays with_features(const Arrays& state, Index had, Index count) {
  Arrays wider;
  for (const auto& [name, values] : state.items()) {
    const bool rows = name == "basis" || name == "recent_rows";  // the last column of recent rows is their norm
    wider.put(name,
              rows ? with_columns(values.size() > 0 ? values : Matrix(0, had + (name == "basis" ? 0 : 1)), had, count)
                   : values);
  }
  return wider;
}

Arrays with_outputs(const Arrays& state, Index count) {
  Arrays wider;
  for (const auto& [name, values] : state.items()) {
    if (name == "theta" || name == "beta" || name == "recent_targets")
      wider.put(name, with_columns(values, values.cols(), count));
    else if (name == "cost" || name == "target_mean")
      wider.put(name, with_rows(values, count));
    else
      wider.put(name, values);
  }
  return wider;
}

}  // namespace kernsift
