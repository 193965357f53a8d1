// SPDX-License-Identifier: MIT
// The executor without threads, and the one that optimizers get when they are given none.
#include <pthread.h>
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

std::mutex default_mutex;
std::shared_ptr<Executor> default_slot;  // null until somebody asks

// fork() takes the mutex first: held by another thread, it would stay locked in the child.
[[maybe_unused]] const int kRegistered = pthread_atfork(
    [] { default_mutex.lock(); }, [] { default_mutex.unlock(); }, [] { default_mutex.unlock(); });

}  // namespace

std::shared_ptr<Executor> serial_executor() { return std::make_shared<SerialExecutor>(); }

void set_default_executor(std::shared_ptr<Executor> executor) {
  if (executor == nullptr) throw std::invalid_argument("set_default_executor: no executor given");
  const std::lock_guard lock(default_mutex);
  default_slot.swap(executor);  // the old one may end here, after the lock
}

std::shared_ptr<Executor> default_executor() {
  {
    const std::lock_guard lock(default_mutex);
    if (default_slot != nullptr) return default_slot;
  }
  // Made without holding the mutex, so that fork handlers cannot meet two locks in the wrong order.
  std::shared_ptr<Executor> pool = pool_executor();
  const std::lock_guard lock(default_mutex);
  if (default_slot == nullptr) default_slot = pool;
  return default_slot;
}

}  // namespace tandem
