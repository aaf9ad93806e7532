// The last rows of a stream: in their order, whatever the calls, and after saving.
#include "core/stream/kept_rows.hpp"
#include "tests/check.hpp"

using namespace kernsift;

namespace {
RowMatrix numbered(Index first, Index count, Index columns) {
  RowMatrix out(count, columns);
  for (Index i = 0; i < count; ++i) out.row(i).setConstant(static_cast<double>(first + i));
  return out;
}
}  // namespace

TEST(the_last_rows_stay_in_their_order) {
  constexpr Index kCapacity = 7, kFeatures = 3, kOutputs = 2;
  for (const Index total : {0, 1, 5, 7, 8, 20, 63}) {
    KeptRows whole(kCapacity, kFeatures, kOutputs), single(kCapacity, kFeatures, kOutputs);
    const RowMatrix X = numbered(0, total, kFeatures), Y = numbered(100, total, kOutputs);
    const Vector v = Vector::LinSpaced(total, 1.0, 2.0);
    whole.keep(X, Y, v);
    for (Index i = 0; i < total; ++i) single.keep(X.row(i).data(), Y.row(i).data(), v[i]);
    const Index kept = std::min(total, kCapacity);
    RowMatrix expected(kept, kFeatures + kOutputs + 1);
    expected << X.bottomRows(kept), Y.bottomRows(kept), v.tail(kept);
    for (const KeptRows* rows : {&whole, &single}) {
      CHECK(rows->size() == kept);
      CHECK(rows->in_order() == expected);
      Arrays arrays;
      rows->save(arrays);
      KeptRows again(kCapacity, kFeatures, kOutputs);
      again.load(arrays);
      again.keep(X, Y, v);
      CHECK(again.size() == std::min(kept + total, kCapacity));
      if (total >= kCapacity) CHECK(again.in_order() == expected);
    }
  }
}

TEST(rows_that_are_not_kept_take_no_room) {
  KeptRows none(0, 3, 1);
  none.keep(numbered(0, 5, 3), numbered(0, 5, 1), Vector::Ones(5));
  CHECK(none.size() == 0);
  Arrays arrays;
  none.save(arrays);
  CHECK(arrays.items().empty());
}
