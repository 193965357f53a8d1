// SPDX-License-Identifier: MIT
// One read of a list of long vectors gives a linear combination of them and their products with
// another vector: what the delayed updates of Full-TO's dense form and the residuals of its span
// form need.
#pragma once

#include <tandem/executor.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/make_room.h"
#include "base/parallel.h"
#include "kernels/kernels.h"

namespace tandem {

/// Columns a task: a function of the length alone, so that sums do not depend on the number of
/// threads. A multiple of four tasks, and few: pieces of rows that are shorter than a few pages are
/// read at little more than half the speed.
inline std::size_t history_columns(std::size_t length) {
  constexpr std::size_t kTasks = 4;
  constexpr std::size_t kLine = 16;
  const std::size_t tasks = (length + kTasks * kernels::kBlock - 1) / (kTasks * kernels::kBlock);
  const std::size_t columns = length / (kTasks * std::max<std::size_t>(tasks, 1)) + 1;
  return std::clamp<std::size_t>((columns + kLine - 1) / kLine * kLine, 512, kernels::kBlock);
}

inline std::size_t history_ranges(std::size_t length) {
  const std::size_t width = history_columns(length);
  return (length + width - 1) / width;
}

template <class T>
class History {
 public:
  /// Room for passes over `rows` vectors of this length, which then allocate nothing.
  void prepare(std::size_t rows, std::size_t length) {
    make_room(partial_, history_ranges(length) * rows);
    make_room(dots_, rows);
  }

  /// `out` += sum of c[k] rows[k] where `out` is given; dots()[k] = rows[k].x where `x` is given.
  void pass(Executor& executor, std::span<const T* const> rows, std::size_t length, const T* c,
            T* out, const T* x) {
    pass(
        executor, rows, length, c, out, x, [](std::size_t, std::size_t, std::size_t) {},
        [](std::size_t, std::size_t, std::size_t) {});
  }

  /// The same; `before` and `after` see each range of columns (its number, its first column, its
  /// width) on the thread that works on it, while it is in the cache.
  template <class Before, class After>
  void pass(Executor& executor, std::span<const T* const> rows, std::size_t length, const T* c,
            T* out, const T* x, const Before& before, const After& after) {
    const std::size_t width = history_columns(length);
    const std::size_t tasks = history_ranges(length);
    const std::size_t count = rows.size();
    if (x != nullptr) partial_.resize(tasks * count);
    const auto& kernels = kernels::kernels<T>();
    const std::size_t grain = kElementsPerThread / (width * std::max<std::size_t>(count, 1)) + 1;
    parallel_ranges(executor, tasks, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t task = first; task < last; ++task) {
        const std::size_t column = task * width;
        const std::size_t columns = std::min(width, length - column);
        before(task, column, columns);
        kernels.history(rows.data(), column, count, columns, c,
                        out == nullptr ? nullptr : out + column,
                        x == nullptr ? nullptr : x + column, partial_.data() + task * count);
        after(task, column, columns);
      }
    });
    if (x == nullptr) return;
    dots_.assign(count, 0);
    for (std::size_t task = 0; task < tasks; ++task) {
      for (std::size_t k = 0; k < count; ++k) dots_[k] += partial_[task * count + k];
    }
  }

  const std::vector<double>& dots() const { return dots_; }
  std::size_t bytes() const { return (partial_.capacity() + dots_.capacity()) * sizeof(double); }

 private:
  static constexpr std::size_t kElementsPerThread = std::size_t{1} << 18;
  std::vector<double> partial_;
  std::vector<double> dots_;
};

}  // namespace tandem
