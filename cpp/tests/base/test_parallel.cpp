#include <atomic>
#include <new>

#include "core/base/parallel.hpp"
#include "tests/check.hpp"

using namespace kernsift;

TEST(a_task_that_throws_on_any_thread_ends_the_call_and_not_the_process) {
  for (const Index bad : {Index(0), Index(7), Index(49)}) {
    std::atomic<int> begun{0};
    bool caught = false;
    try {
      parallel_for(50, 3, [&](Index task) {
        ++begun;
        if (task == bad) throw std::bad_alloc();
      });
    } catch (const std::bad_alloc&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(begun > bad);
  }
}
