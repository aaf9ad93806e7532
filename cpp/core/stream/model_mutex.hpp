// The lock of a model that several threads use.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace kernsift {

// A mutex that a forked child does not wait for in vain: the thread that holds it there does not exist. `forks` is
// counted by a handler that whoever may be forked registers. A thread that holds it and locks it again gets an error,
// no deadlock.
class ModelMutex {
 public:
  static inline std::atomic<unsigned> forks{0};

  bool try_lock() {
    if (owner_ == std::this_thread::get_id() || !mutex_.try_lock()) return false;
    take();
    return true;
  }
  void lock() {
    if (try_lock()) return;
    // the holder of a moment ago stores both a moment after it has the mutex
    for (int tries = 0; holder_ != forks; ++tries) {
      if (tries == 50)
        throw std::runtime_error(
            "this process was forked while a thread was at work on the model, and has half of its work: load a saved "
            "copy, or fork before");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (owner_ == std::this_thread::get_id())
      throw std::runtime_error(
          "this thread is learning with the model already: a signal handler or a finalizer cannot learn with it too");
    mutex_.lock();
    take();
  }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }

 private:
  void take() {
    holder_ = forks.load();
    owner_ = std::this_thread::get_id();
  }
  std::mutex mutex_;
  std::atomic<unsigned> holder_{0};
  std::atomic<std::thread::id> owner_{};
};

}  // namespace kernsift
