// SPDX-License-Identifier: MIT
// A few threads for what takes time, so that the thread that serves all connections never waits.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::serve {

class Workers {
 public:
  /// `waiting`: how many jobs wait at most.
  Workers(std::size_t threads, std::size_t waiting);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// False, and nothing is done, where too many wait or stop() was called. A job must not throw.
  bool add(std::function<void()> job);
  /// Returns when the jobs that run are done; those that wait are dropped.
  void stop();

 private:
  void work();

  const std::size_t waiting_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tandem::serve
