#pragma once

#include "bind/bind.hpp"
#include "core/kernel/kernels.hpp"
#include "core/stream/model_mutex.hpp"
#include "core/stream/online_settings.hpp"

namespace kernsift {

// One model and its locks. The GIL is released first, `learning` locked second and `mutex` third, always in this order,
// so that a thread that waits for a lock never holds the GIL.
template <class Model>
struct Guarded {
  // Never change, so that they are read without the lock: a second pass replaces all of the model.
  const Kernel kernel;
  const Index n_outputs;
  mutable Model model;  // reading brings it up to date with the rows learned
  mutable ModelMutex mutex;
  // Of who learns: a second pass holds it from the first row to the last, and others read meanwhile.
  ModelMutex learning;
  mutable Wholeness whole;

  Guarded(const Kernel& k, Index outputs, const OnlineSettings& settings)
      : kernel(k), n_outputs(outputs), model(k, outputs, settings) {}
  explicit Guarded(const Model& other)
      : kernel(other.dictionary().kernel()), n_outputs(other.n_outputs()), model(other) {}

  template <class Work>
  auto locked(Work&& work) const {
    py::gil_scoped_release unlocked;  // `work` touches C++ objects and numpy buffers held by the caller only
    const std::lock_guard<ModelMutex> lock(mutex);
    return or_out_of_memory(work, [&] { return size_in_words(); });
  }

  // At most, as docs/streams.md counts.
  std::string size_in_words() const {
    const auto m = static_cast<double>(model.dictionary().size()), d = static_cast<double>(kernel.n_features()),
               c = static_cast<double>(n_outputs), ring = static_cast<double>(model.settings().exact_rows);
    const double bytes = 8 * (10 * m * m + 2 * m * (d + c) + ring * (2.5 * m + d + c));
    return "memory ran out: an online model of " + std::to_string(model.dictionary().size()) + " kernels takes up to " +
           in_words(bytes) + " beside the rows; lower max_basis" +
           (ring > 0 ? (model.settings().window ? " or window" : " or exact_rows") : "") +
           ", give fewer rows in a call, or raise the limit of this process";
  }

  template <class Work>
  auto settled(Work&& work) const {
    return locked([&] {
      whole.change([&] { model.settle(); });
      return work();
    });
  }

  // Of a settled model, with the lock.
  Matrix coefficients() const { return model.coefficients().topRows(model.dictionary().size()); }

  template <class Work>
  void changed(Work&& work) {
    py::gil_scoped_release unlocked;  // as above
    const std::lock_guard<ModelMutex> turn(learning);
    const std::lock_guard<ModelMutex> lock(mutex);
    or_out_of_memory([&] { whole.change(work); }, [&] { return size_in_words(); });
  }

  // Work on one row keeps the GIL where nothing must be awaited: releasing it costs as much as some fifty kernels.
  // Sums of rows that are still to be settled cost O(m^3), too much for other threads to wait for from here on.
  static constexpr Index kMostWithGil = 200;  // kernels
  template <class Work>
  bool at_once(Work&& work) const {
    const std::unique_lock<ModelMutex> lock(mutex, std::try_to_lock);
    const bool can = lock.owns_lock() && model.dictionary().size() <= kMostWithGil;
    if (can) or_out_of_memory([&] { whole.change(work); }, [&] { return size_in_words(); });
    return can;
  }
  template <class Work>
  void read_one(Work&& work) const {
    if (!at_once(work)) locked([&] { whole.change(work); });
  }
  template <class Work>
  void change_one(Work&& work) {
    {
      const std::unique_lock<ModelMutex> turn(learning, std::try_to_lock);
      if (turn.owns_lock() && at_once(work)) return;
    }
    changed(work);
  }
};

}  // namespace kernsift
