// Work shared out to threads. Plain std::thread, made for the call: OpenMP's runtime hangs in a child after fork, and
// at the sizes that are worth a thread its creation (tens of microseconds) is nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "core/types.hpp"

namespace kernsift {

// Calls work(task) for each task in [0, tasks), whoever is free next. For sums: callers cut the work into tasks by its
// size alone and add the parts in the order of the tasks, so a result is the same bits for every number of threads.
// `work` must not throw.
template <class Work>
void parallel_for(Index tasks, int threads, const Work& work) {
  std::atomic<Index> next{0};
  const auto run = [&] {
    for (Index task = next++; task < tasks; task = next++) work(task);
  };
  std::vector<std::thread> others;
  try {
    for (Index i = 1; i < std::min<Index>(threads, tasks); ++i) others.emplace_back(run);
  } catch (const std::system_error&) {
    // no more threads to be had: those there are do the rest
  }
  run();
  for (std::thread& other : others) other.join();
}

}  // namespace kernsift
