// The lock of a model that several threads use.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace kernsift {

// A mutex that a forked child does not wait for in vain: the thread that holds it there does not exist. `forks` is counted
// by a handler that whoever may be forked registers.
class ModelMutex {
 public:
  static inline std::atomic<unsigned> forks{0};

  void lock() {
    if (!mutex_.try_lock()) {
      // whoever has locked it in this process has said so, or will in a moment
      for (int tries = 0; holder_ != forks; ++tries) {
        if (tries == 50)
          throw std::runtime_error(
              "this process was forked while a thread was at work on the model, and has half of its work: load a saved "
              "copy, or fork before");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      mutex_.lock();
    }
    holder_ = forks.load();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<unsigned> holder_{0};
};

}  // namespace kernsift
