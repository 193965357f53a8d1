// SPDX-License-Identifier: MIT
// Splits a range over an executor's threads; ranges that are too small to pay for it stay on the
// calling thread. Wherever a body runs, it runs in the environment of base/float_environment.h.
#pragma once

#include <tandem/executor.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>

#include "base/float_environment.h"

namespace tandem {

/// Calls body(i) for all i < count on an executor. What a body throws is thrown again here once all
/// tasks have ended (of several, that of the lowest i), so that no executor ever sees an exception.
/// Allocates nothing: a step cannot fail here for want of memory.
template <class Body>
void run_tasks(Executor& executor, std::size_t count, const Body& body) {
  struct Tasks {
    const Body& body;
    std::mutex mutex = {};
    std::size_t failed = std::numeric_limits<std::size_t>::max();
    std::exception_ptr error = nullptr;
  } tasks{body};
  const auto one = [&tasks](std::size_t i) {
    try {
      const FlushDenormals flush;
      tasks.body(i);
    } catch (...) {
      const std::lock_guard lock(tasks.mutex);
      if (i < tasks.failed) {
        tasks.failed = i;
        tasks.error = std::current_exception();
      }
    }
  };
  {
    const CallersFloatEnvironment callers;  // an executor may start threads
    // std::function keeps a reference in place, and puts anything larger on the heap.
    executor.run(count, std::ref(one));
  }
  if (tasks.error != nullptr) std::rethrow_exception(tasks.error);
}

/// Calls body(first, last) for ranges that cover [0, count), of at least `grain` items each. What a
/// range holds depends on the number of threads, so a body must give each item the same result
/// whatever range it comes in. As run_tasks, it allocates nothing and passes on what a body throws.
template <class Body>
void parallel_ranges(Executor& executor, std::size_t count, std::size_t grain, const Body& body) {
  if (count == 0) return;
  const std::size_t most = count / std::max<std::size_t>(grain, 1);
  const std::size_t ranges =
      most < 2 ? 1 : std::min(most, static_cast<std::size_t>(std::max(1, executor.threads())));
  if (ranges == 1) {
    const FlushDenormals flush;
    body(std::size_t{0}, count);
    return;
  }
  run_tasks(executor, ranges,
            [&](std::size_t i) { body(i * count / ranges, (i + 1) * count / ranges); });
}

}  // namespace tandem
