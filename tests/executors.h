// SPDX-License-Identifier: MIT
// Executors that a host might bring: one with threads of its own, one that runs tasks backwards.
#pragma once

#include <tandem/executor.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace tandem::testing {

/// Starts threads for every pass; they take the tasks in turns.
class ThreadsExecutor : public Executor {
 public:
  explicit ThreadsExecutor(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> team;
    for (int k = 0; k < threads_; ++k)
      team.emplace_back([&] {
        for (std::size_t i = next++; i < count; i = next++) task(i);
      });
    for (std::thread& member : team) member.join();
  }

 private:
  int threads_;
};

/// Runs tasks from the last to the first and keeps count.
class BackwardsExecutor : public Executor {
 public:
  explicit BackwardsExecutor(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    most_tasks = std::max(most_tasks, count);
    for (std::size_t i = count; i-- > 0;) task(i);
  }

  std::size_t most_tasks = 0;

 private:
  int threads_;
};

}  // namespace tandem::testing
