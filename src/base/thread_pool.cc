// SPDX-License-Identifier: MIT
// The library's own thread pool. The calling thread takes tasks like any worker; it waits only for
// tasks that a worker has taken, never for a worker without one. Idle workers sleep. The pool stays
// usable in the child of a fork().
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <tandem/executor.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;
using Word = std::atomic<std::uint32_t>;

/// How long a worker polls for the next job before it sleeps. The passes of a step follow each other
/// within microseconds, and waking a thread takes longer than that. On two cores 5, 20 and 50 were
/// equally fast within noise, 0 was slower.
constexpr std::chrono::microseconds kLinger(20);
/// How long the caller polls for the end of the last tasks before it sleeps.
constexpr std::chrono::microseconds kPatience(50);
constexpr int kMostThreads = 4096;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls a condition for a short time; false if it did not come true.
template <class Condition>
bool soon(std::chrono::microseconds time, const Condition& came) {
  const auto end = Clock::now() + time;
  do {
    for (int i = 0; i < 16; ++i) {
      if (came()) return true;
      relax();
    }
  } while (Clock::now() < end);
  return came();
}

/// Sleeps unless the word has another value. Spurious wake-ups are possible.
void sleep_while(const Word& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(const Word& word, int sleepers) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

/// The tasks that one thread takes first, so that a task stays on the same thread, and in its cache,
/// from job to job. The other threads take from it when their own share is empty.
struct alignas(64) Share {
  /// Upper half: the number of the job. Lower half: how many tasks are left to take. The job number
  /// keeps a late worker from taking a task with what it read of an earlier job.
  std::atomic<std::uint64_t> left = 0;
};

class ThreadPool;

/// All pools, for the fork handlers.
std::mutex pools_mutex;
ThreadPool* pools = nullptr;

class ThreadPool : public Executor {
 public:
  explicit ThreadPool(int threads)
      : threads_(static_cast<std::size_t>(threads)), shares_(threads_), workers_(threads_ - 1) {
    for (std::size_t i = 0; i + 1 < threads_; ++i) workers_[i] = {this, i + 1, {}};
    const std::lock_guard lock(pools_mutex);
    next_ = pools;
    if (next_ != nullptr) next_->previous_ = this;
    pools = this;
  }

  ~ThreadPool() override {
    {
      const std::lock_guard lock(pools_mutex);
      (previous_ != nullptr ? previous_->next_ : pools) = next_;
      if (next_ != nullptr) next_->previous_ = previous_;
    }
    ended_ = true;
    ++round_;
    wake(round_, INT_MAX);
    for (std::size_t i = 0; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const override { return static_cast<int>(threads_); }

  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    // One job at a time. A nested call, or one from another thread, finds the pool busy and does its
    // work alone.
    if (count < 2 || threads_ == 1 || count >= kCallerSleeps ||
        busy_.exchange(true, std::memory_order_acquire)) {
      for (std::size_t i = 0; i < count; ++i) task(i);
      return;
    }
    const std::size_t shares = std::min(count, threads_);
    start_workers(shares - 1);
    publish(count, task, shares);
    take_all(0);
    wait_for_taken();
    busy_.store(false, std::memory_order_release);
  }

  // The fork handlers. No pool is made or destroyed while the process is copied.
  static void before_fork() { pools_mutex.lock(); }
  static void in_parent() { pools_mutex.unlock(); }
  static void in_child() {
    for (ThreadPool* pool = pools; pool != nullptr; pool = pool->next_) pool->start_anew();
    pools_mutex.unlock();
  }

 private:
  struct Worker {
    ThreadPool* pool;
    std::size_t share;
    pthread_t thread;
  };

  /// Does not allocate: run() must not. If the system refuses a thread, there are fewer.
  void start_workers(std::size_t wanted) {
    if (started_ >= wanted || refused_) return;
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started_ < wanted && !refused_) {
      Worker& worker = workers_[started_];
      const auto begin = [](void* self) -> void* {
        const auto& me = *static_cast<Worker*>(self);
        me.pool->work(me.share);
        return nullptr;
      };
      refused_ = pthread_create(&worker.thread, nullptr, begin, &worker) != 0;
      if (!refused_) ++started_;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void publish(std::size_t count, const std::function<void(std::size_t)>& task,
               std::size_t shares) {
    task_.store(&task, std::memory_order_relaxed);
    count_.store(count, std::memory_order_relaxed);
    core_.store(sched_getcpu(), std::memory_order_relaxed);
    open_.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
    const std::uint64_t job = std::uint64_t{round_.load(std::memory_order_relaxed) + 1} << 32;
    for (std::size_t s = 0; s < shares; ++s) {
      shares_[s].left.store(job | ((s + 1) * count / shares - s * count / shares),
                            std::memory_order_release);
    }
    // Sequentially consistent, as in work(): a worker counts itself as asleep before it looks at the
    // round for the last time, so either it sees this round or it is seen here.
    round_.fetch_add(1);
    const std::size_t asleep = std::min(asleep_.load(), started_);
    const std::size_t awake = started_ - asleep;
    if (asleep > 0 && shares - 1 > awake) wake(round_, static_cast<int>(shares - 1 - awake));
  }

  /// Takes tasks, first from its own share, until none is left. True if it got any.
  bool take_all(std::size_t own) noexcept {
    const std::size_t shares = std::min(count_.load(std::memory_order_relaxed), threads_);
    bool any = false;
    for (std::size_t s = own; s < shares; ++s) any |= take_share(s);
    for (std::size_t s = 0; s < std::min(own, shares); ++s) any |= take_share(s);
    return any;
  }

  bool take_share(std::size_t s) noexcept {
    bool any = false;
    std::atomic<std::uint64_t>& left = shares_[s].left;
    std::uint64_t seen = left.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(seen) > 0) {
      // If the exchange succeeds, these belong to the same job as `seen`: the next one is published
      // only when all tasks of this one are done.
      const auto* const task = task_.load(std::memory_order_relaxed);
      const std::size_t count = count_.load(std::memory_order_relaxed);
      if (!left.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        continue;
      }
      const std::size_t shares = std::min(count, threads_);
      (*task)((s + 1) * count / shares - static_cast<std::uint32_t>(seen));
      if (open_.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) wake(open_, 1);
      --seen;
      any = true;
    }
    return any;
  }

  void wait_for_taken() {
    const auto done = [this] { return open_.load(std::memory_order_acquire) == 0; };
    if (done() || soon(kPatience, done)) return;
    std::uint32_t open = open_.fetch_or(kCallerSleeps, std::memory_order_acq_rel) | kCallerSleeps;
    while (open != kCallerSleeps) {
      sleep_while(open_, open);
      open = open_.load(std::memory_order_acquire);
    }
  }

  void work(std::size_t own) noexcept {
    while (true) {
      const std::uint32_t round = round_.load(std::memory_order_acquire);
      if (ended_) return;
      const bool useful = take_all(own);
      const auto more = [&] { return round_.load(std::memory_order_acquire) != round; };
      // On a busy machine a worker may come too late, or run on the core that the caller needs. Then
      // it sleeps at once: polling there made small steps several times slower.
      const bool lingers = useful && sched_getcpu() != core_.load(std::memory_order_relaxed);
      if (lingers ? soon(kLinger, more) : more()) continue;
      ++asleep_;
      if (round_.load() == round) sleep_while(round_, round);
      --asleep_;
    }
  }

  /// In the child of a fork(): neither the workers nor another thread that was using the pool exist.
  void start_anew() {
    for (Share& share : shares_) share.left = 0;
    open_ = 0;
    asleep_ = 0;
    started_ = 0;
    refused_ = false;
    busy_ = false;
  }

  static constexpr std::uint32_t kCallerSleeps = 1U << 31;

  const std::size_t threads_;  // the caller is one of them
  std::vector<Share> shares_;
  std::vector<Worker> workers_;
  std::atomic<bool> busy_ = false;
  // These belong to the thread that made it busy.
  std::size_t started_ = 0;  // workers
  bool refused_ = false;     // the system would not start another thread

  // The job. A late worker may still look at it when run() has returned.
  std::atomic<const std::function<void(std::size_t)>*> task_ = nullptr;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<int> core_ = -1;  // on which the caller runs
  alignas(64) Word open_ = 0;   // tasks that are not done, and whether the caller sleeps
  alignas(64) Word round_ = 0;  // counts jobs; workers sleep on it
  std::atomic<std::size_t> asleep_ = 0;
  std::atomic<bool> ended_ = false;

  ThreadPool* next_ = nullptr;
  ThreadPool* previous_ = nullptr;
};

// Registered when the library is loaded: done later, a fork() could interrupt it.
[[maybe_unused]] const int kRegistered =
    pthread_atfork(ThreadPool::before_fork, ThreadPool::in_parent, ThreadPool::in_child);

/// The number that a variable of the environment begins with ("4,2" is 4), or 0.
int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  int number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && number > 0 ? number : 0;
}

/// As many as the user says, else as the cores that this process may use.
int usual_threads() {
  // OMP_NUM_THREADS is what people set to limit a program's threads.
  for (const char* variable : {"TANDEM_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (const int number = number_in(variable); number > 0) return std::min(number, kMostThreads);
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  // More cores than the set can hold.
  return static_cast<int>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, long{kMostThreads}));
}

}  // namespace

std::shared_ptr<Executor> pool_executor(int threads) {
  if (threads < 0 || threads > kMostThreads) {
    throw std::invalid_argument("Invalid number of threads: " + std::to_string(threads) +
                                ", expected 0 (as many as there are) to " +
                                std::to_string(kMostThreads));
  }
  return std::make_shared<ThreadPool>(threads > 0 ? threads : usual_threads());
}

}  // namespace tandem
