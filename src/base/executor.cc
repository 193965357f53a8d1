// SPDX-License-Identifier: MIT
// The executors that come with the library: the calling thread, and OpenMP.
#include <omp.h>
#include <tandem/executor.h>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace tandem {
namespace {

class SerialExecutor : public Executor {
 public:
  int threads() const override { return 1; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    for (std::size_t i = 0; i < count; ++i) task(i);
  }
};

class OpenMpExecutor : public Executor {
 public:
  explicit OpenMpExecutor(int threads) : threads_(threads) {}
  int threads() const override { return threads_ > 0 ? threads_ : omp_get_max_threads(); }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    const auto tasks = static_cast<std::ptrdiff_t>(count);
    // Only the schedules differ. NOLINTNEXTLINE(bugprone-branch-clone)
    if (count <= static_cast<std::size_t>(threads())) {
      // The same thread for the same task every time: its cache has what the task needs.
#pragma omp parallel for num_threads(threads()) schedule(static, 1)
      for (std::ptrdiff_t i = 0; i < tasks; ++i) task(static_cast<std::size_t>(i));
    } else {
      // Whoever is free takes the next: a thread that has to share its core holds nobody up.
#pragma omp parallel for num_threads(threads()) schedule(dynamic, 1)
      for (std::ptrdiff_t i = 0; i < tasks; ++i) task(static_cast<std::size_t>(i));
    }
  }

 private:
  int threads_;
};

std::mutex default_mutex;
std::shared_ptr<Executor>& default_slot() {
  static std::shared_ptr<Executor> slot = openmp_executor();
  return slot;
}

}  // namespace

std::shared_ptr<Executor> serial_executor() { return std::make_shared<SerialExecutor>(); }

std::shared_ptr<Executor> openmp_executor(int threads) {
  if (threads < 0) {
    throw std::invalid_argument("Invalid number of threads: " + std::to_string(threads) +
                                ", expected 0 (as many as there are) or more");
  }
  return std::make_shared<OpenMpExecutor>(threads);
}

void set_default_executor(std::shared_ptr<Executor> executor) {
  if (executor == nullptr) throw std::invalid_argument("set_default_executor: no executor given");
  const std::lock_guard lock(default_mutex);
  default_slot() = std::move(executor);
}

std::shared_ptr<Executor> default_executor() {
  const std::lock_guard lock(default_mutex);
  return default_slot();
}

}  // namespace tandem
