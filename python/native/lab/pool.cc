// SPDX-License-Identifier: MIT
#include "pool.h"

#include <fmt/format.h>
#include <omp.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tandem::python {
namespace {

class Pool : public Executor {
 public:
  /// Throws std::runtime_error where not all threads can be started.
  explicit Pool(int threads) : threads_(threads) {
    try {
      workers_.reserve(static_cast<std::size_t>(threads - 1));
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::exception& error) {             // std::system_error or std::bad_alloc
      const std::size_t started = workers_.size() + 1;  // with the calling one
      const std::string why = error.what();
      end();  // the destructor does not run
      throw std::runtime_error(
          fmt::format("Cannot start {} threads, only {}: {}; give a smaller number of threads",
                      threads, started, why));
    }
  }

  ~Pool() override { end(); }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const override { return threads_; }

  /// Called by one thread at a time, and not from a task.
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    if (count < 2 || workers_.empty()) {
      for (std::size_t i = 0; i < count; ++i) task(i);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      count_ = count;
      next_ = 0;
      ++round_;
    }
    begun_.notify_all();
    take_tasks(task, count);
    std::unique_lock lock(mutex_);
    task_ = nullptr;  // who wakes up now has come too late
    left_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    begun_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void take_tasks(const std::function<void(std::size_t)>& task, std::size_t count) {
    for (std::size_t i = next_++; i < count; i = next_++) task(i);
  }

  void work() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      begun_.wait(lock, [&] { return ended_ || (task_ != nullptr && round_ != seen); });
      if (ended_) return;
      seen = round_;
      const std::function<void(std::size_t)>& task = *task_;
      const std::size_t count = count_;
      ++inside_;
      lock.unlock();
      take_tasks(task, count);
      lock.lock();
      if (--inside_ == 0) left_.notify_one();
    }
  }

  int threads_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable begun_, left_;
  const std::function<void(std::size_t)>* task_ = nullptr;  // null: nothing to do
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::uint64_t round_ = 0;
  std::size_t inside_ = 0;  // workers
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<Executor> make_pool(int threads) {
  if (threads < 0) throw std::invalid_argument("Invalid number of threads, expected 0 or more");
  return std::make_shared<Pool>(threads > 0 ? threads : omp_get_max_threads());
}

}  // namespace tandem::python
