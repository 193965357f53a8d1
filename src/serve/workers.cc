// SPDX-License-Identifier: MIT
#include "serve/workers.h"

#include <utility>

namespace tandem::serve {

Workers::Workers(std::size_t threads, std::size_t waiting) : waiting_(waiting) {
  threads_.reserve(threads);
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop();  // the destructor is not called for what was not made whole
    throw;
  }
}

bool Workers::add(std::function<void()> job) {
  {
    const std::lock_guard guard(mutex_);
    if (stopped_ || jobs_.size() >= waiting_) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void Workers::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::work() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock guard(mutex_);
      changed_.wait(guard, [this] { return stopped_ || !jobs_.empty(); });
      if (stopped_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace tandem::serve
