// Lets the user interrupt a long computation.
#pragma once

#include <chrono>

namespace kernsift {

// Throws if the computation must end. Set once, by the binding (Ctrl-C); null: nothing interrupts.
inline void (*interrupt_hook)() = nullptr;

// Between two blocks of work: calls interrupt_hook, at most every 50 ms of a thread. Where it may be called:
// not in a task of parallel_for, which is no Python thread; not under a lock that somebody may wait for holding what
// interrupt_hook takes (the GIL); and only where leaving at once leaves nothing half done that is seen again.
inline void check_interrupt() {
  using Clock = std::chrono::steady_clock;
  if (interrupt_hook == nullptr) return;
  thread_local Clock::time_point next;
  const Clock::time_point now = Clock::now();
  if (now < next) return;
  next = now + std::chrono::milliseconds(50);
  interrupt_hook();
}

}  // namespace kernsift
