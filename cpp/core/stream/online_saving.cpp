// The state of OnlineLSSVM as plain arrays, and back.
#include <stdexcept>

#include "core/stream/online_lssvm.hpp"

namespace kernsift {

template <class State>
Arrays OnlineLSSVM<State>::save() const {
  Arrays arrays;
  state_.save(arrays);
  arrays.put("basis", Matrix(dictionary_.vectors()));
  Matrix ids(dictionary_.size(), 1), counts(kOutcomes, 1);
  for (Index i = 0; i < ids.rows(); ++i) ids(i, 0) = static_cast<double>(dictionary_.ids()[static_cast<std::size_t>(i)]);
  for (Index i = 0; i < kOutcomes; ++i) counts(i, 0) = static_cast<double>(counters_[static_cast<std::size_t>(i)]);
  arrays.put("ids", std::move(ids));
  arrays.put("counters", std::move(counts));
  arrays.put("rows_seen", static_cast<double>(rows_seen_));
  arrays.put("rows_learned", static_cast<double>(t_));
  arrays.put("sum_log_weights", sum_log_weights_);
  arrays.put("effective_rows", effective_t_);
  arrays.put("frame", frame_);
  arrays.put("since_fade", static_cast<double>(since_fade_));
  arrays.put("quiet_rows", static_cast<double>(quiet_rows_));
  arrays.put("forgotten", static_cast<double>(forgotten_));
  arrays.put("doubt", doubt_);
  arrays.put("heaviest", heaviest_);
  recent_.save(arrays);
  arrays.put("target_weight", moments_.weight());
  arrays.put("target_mean", moments_.mean());
  arrays.put("target_squares", moments_.squares());
  return arrays;
}

template <class State>
void OnlineLSSVM<State>::load(const Arrays& arrays) {
  *this = OnlineLSSVM(dictionary_.kernel(), n_outputs(), settings_);
  const Index m = arrays.get("ids").rows();
  const RowMatrix basis = arrays.get("basis", m, dictionary_.kernel().n_features());
  const Matrix& ids = arrays.get("ids", m, 1);
  const Matrix& counts = arrays.get("counters", kOutcomes, 1);
  t_ = arrays.count("rows_learned");
  rows_seen_ = arrays.count("rows_seen");
  state_.load(arrays, m, t_ > 0);
  dictionary_.kernel().prepare(basis, prepared_);
  for (Index i = 0; i < m; ++i)
    dictionary_.append(basis.row(i).data(), prepared_, i, Arrays::whole(ids(i, 0), "ids"));
  for (Index i = 0; i < kOutcomes; ++i) counters_[static_cast<std::size_t>(i)] = Arrays::whole(counts(i, 0), "counters");
  sum_log_weights_ = arrays.number("sum_log_weights");
  effective_t_ = arrays.number("effective_rows");
  frame_ = arrays.number("frame");
  since_fade_ = arrays.count("since_fade");
  quiet_rows_ = arrays.count("quiet_rows");
  forgotten_ = arrays.count("forgotten");
  doubt_ = arrays.number("doubt", 0.0);
  heaviest_ = arrays.number("heaviest", 0.0);
  recent_.load(arrays, state_.dimension());
  moments_.assign(arrays.number("target_weight"), arrays.get("target_mean", n_outputs(), 1),
                  arrays.number("target_squares"));
}

template Arrays OnlineLSSVM<OrthonormalState>::save() const;
template Arrays OnlineLSSVM<InverseState>::save() const;
template void OnlineLSSVM<OrthonormalState>::load(const Arrays&);
template void OnlineLSSVM<InverseState>::load(const Arrays&);

}  // namespace kernsift
