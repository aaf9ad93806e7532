// Independent tasks on a few threads. What a task computes must not depend on who runs it: callers cut the work
// into tasks by its size alone and add the parts in the order of the tasks, so a result is the same bits for every
// number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "core/types.hpp"

namespace kernsift {

// Calls work(task) for each task in [0, tasks). `work` must not throw.
template <class Work>
void parallel_for(Index tasks, int threads, Work&& work) {
  const Index extra = std::min<Index>(threads, tasks) - 1;
  if (extra < 1) {
    for (Index task = 0; task < tasks; ++task) work(task);
    return;
  }
  std::atomic<Index> next{0};
  const auto run = [&] {
    for (Index task = next++; task < tasks; task = next++) work(task);
  };
  std::vector<std::thread> helpers;
  helpers.reserve(static_cast<std::size_t>(extra));
  try {
    for (Index i = 0; i < extra; ++i) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // no more threads to be had: those there are do the rest
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace kernsift
