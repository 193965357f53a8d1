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
/// A pool of threads, the calling one among them; the others are started when they are first needed
/// and sleep when idle. 0 means as many as TANDEM_NUM_THREADS says, else OMP_NUM_THREADS, else the
/// cores that the process may use. Where the system gives fewer threads, fewer do the work. Any
/// thread may call run(): while a job is under way, a second one is done by its caller alone, so
/// tasks may have tasks. A pool survives fork(); a task that forks must not return in the child.
std::shared_ptr<Executor> pool_executor(int threads = 0);

/// The executor of optimizers that were given none: one pool_executor() for all of them unless
/// replaced here. Affects optimizers made afterwards.
void set_default_executor(std::shared_ptr<Executor> executor);
std::shared_ptr<Executor> default_executor();

}  // namespace tandem
