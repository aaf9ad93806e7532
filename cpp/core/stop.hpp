// Long computations look now and then whether somebody wants them stopped.
#pragma once

#include <chrono>

namespace kernsift {

// Throws if the computation shall end. Set once, by whoever knows (the binding: Ctrl-C); null: nobody asks.
inline void (*stop_check)() = nullptr;

// Between two blocks of work: asks stop_check, at most every 50 ms of a thread. Where it may be called:
// not in a task of parallel_for, which is no Python thread; not under a lock that somebody may wait for holding what
// stop_check takes (the GIL); and only where leaving at once leaves nothing half done that is seen again.
inline void allow_stop() {
  using Clock = std::chrono::steady_clock;
  if (stop_check == nullptr) return;
  thread_local Clock::time_point next;
  const Clock::time_point now = Clock::now();
  if (now < next) return;
  next = now + std::chrono::milliseconds(50);
  stop_check();
}

}  // namespace kernsift
