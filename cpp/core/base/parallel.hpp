// Work shared out to threads. Plain std::thread, made for the call: OpenMP's runtime hangs in a child after fork, and
// at the sizes that are worth a thread its creation (tens of microseconds) is nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/types.hpp"

namespace kernsift {

// Calls work(task) for each task in [0, tasks), whoever is free next. For sums: callers cut the work into tasks by its
// size alone and add the parts in the order of the tasks, so a result is the same bits for every number of threads.
// If a task throws (memory has run out), no further ones begin, and the first exception is thrown here.
template <class Work>
void parallel_for(Index tasks, int threads, const Work& work) {
  std::atomic<Index> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto run = [&] {
    try {
      for (Index task = next++; task < tasks; task = next++) work(task);
    } catch (...) {
      next = tasks;
      const std::lock_guard<std::mutex> lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  const Index more = std::min<Index>(threads, tasks) - 1;
  if (more > 0) others.reserve(static_cast<std::size_t>(more));
  try {
    for (Index i = 0; i < more; ++i) others.emplace_back(run);
  } catch (const std::exception&) {
    // the system gives no more threads: those started do the rest
  }
  run();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kernsift
