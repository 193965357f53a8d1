// SPDX-License-Identifier: MIT
// Where the threads of a step come from. Results never depend on it, to the bit.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace tandem {

/// Runs independent tasks. A host with a pool of its own (LibTorch, a job system) implements this
/// and hands it to Optimizer::set_executor; everybody else gets a pool of the library's own.
class Executor {
 public:
  virtual ~Executor() = default;
  /// How many tasks can run at the same time; asked once a pass, at least 1.
  virtual int threads() const = 0;
  /// Calls task(0) ... task(count - 1), each once, in any order, and returns when all are done.
  /// Tasks do not throw. Nor should this: it is called in the middle of a step, which cannot be
  /// undone. Where there is no thread to be had, the calling one does the work.
  virtual void run(std::size_t count, const std::function<void(std::size_t)>& task) = 0;
};

/// Runs everything on the calling thread.
std::shared_ptr<Executor> serial_executor();
/// A thread pool; the calling thread is one of its threads. The others are started when first needed
/// and sleep when idle. 0 means TANDEM_NUM_THREADS, else OMP_NUM_THREADS, else the cores that this
/// process may use; at most 4096. If the system starts fewer threads, those do the work. Any thread
/// may call run(), and tasks may too: while one job is running, other callers do their work alone. A
/// pool works in the child of a fork(), but a task that forks must not return in the child.
std::shared_ptr<Executor> pool_executor(int threads = 0);

/// The executor of optimizers that were given none: one pool_executor() for all of them unless
/// replaced here. Affects optimizers made afterwards.
void set_default_executor(std::shared_ptr<Executor> executor);
std::shared_ptr<Executor> default_executor();

}  // namespace tandem
