// SPDX-License-Identifier: MIT
// Splits a range over an executor's threads; ranges that are too small to pay for it stay on the
// calling thread.
#pragma once

#include <tandem/executor.h>

#include <algorithm>
#include <cstddef>

namespace tandem {

/// Calls body(first, last) for ranges that cover [0, count), of at least `grain` items each. What a
/// range holds depends on the number of threads, so a body must give each item the same result
/// whatever range it comes in.
template <class Body>
void parallel_ranges(Executor& executor, std::size_t count, std::size_t grain, const Body& body) {
  if (count == 0) return;
  const std::size_t most = count / std::max<std::size_t>(grain, 1);
  const std::size_t ranges =
      most < 2 ? 1 : std::min(most, static_cast<std::size_t>(std::max(1, executor.threads())));
  if (ranges == 1) {
    body(std::size_t{0}, count);
    return;
  }
  executor.run(ranges, [&](std::size_t i) { body(i * count / ranges, (i + 1) * count / ranges); });
}

}  // namespace tandem
