// SPDX-License-Identifier: MIT
// The pool of threads: every task once, whoever asks and however often; processes that fork.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tandem/tandem.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;

bool each_once(Executor& executor, std::size_t count) {
  std::vector<std::atomic<int>> seen(count);
  executor.run(count, [&](std::size_t i) { ++seen[i]; });
  return std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; });
}

/// `count` tasks that wait for each other: true if all of them ran at the same time.
bool together(Executor& executor, int count) {
  std::atomic<int> begun = 0, met = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  executor.run(static_cast<std::size_t>(count), [&](std::size_t) {
    ++begun;
    while (begun < count && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (begun == count) ++met;
  });
  return met == count;
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8, 33}) {
    const auto pool = pool_executor(threads);
    EXPECT_EQ(pool->threads(), threads);
    for (int again = 0; again < 20; ++again) {
      for (const std::size_t count : {0, 1, 2, 3, 7, 8, 9, 32, 33, 34, 1000}) {
        ASSERT_TRUE(each_once(*pool, count)) << threads << " threads, " << count << " tasks";
      }
    }
  }
}

TEST(ThreadPool, WorksAtTheSameTime) {
  EXPECT_TRUE(together(*pool_executor(2), 2));
  const auto pool = pool_executor(5);
  for (const int count : {2, 5, 3, 5}) EXPECT_TRUE(together(*pool, count)) << count;
  std::this_thread::sleep_for(milliseconds(20));  // they sleep by now
  EXPECT_TRUE(together(*pool, 5));
}

TEST(ThreadPool, TasksMayHaveTasks) {
  const auto pool = pool_executor(3);
  std::atomic<int> done = 0;
  pool->run(8, [&](std::size_t) {
    pool->run(16, [&](std::size_t) { pool->run(2, [&](std::size_t) { ++done; }); });
  });
  EXPECT_EQ(done, 8 * 16 * 2);
}

TEST(ThreadPool, ServesSeveralCallers) {
  const auto pool = pool_executor(3);
  std::atomic<int> failed = 0;
  std::vector<std::thread> callers;
  for (std::size_t k = 0; k < 4; ++k) {
    callers.emplace_back([&, k] {
      for (std::size_t i = 0; i < 500; ++i) failed += each_once(*pool, (i + k) % 11) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failed, 0);
}

// Results of one job are seen by the next, whoever computes them; no job is mixed with another.
TEST(ThreadPool, BearsManyShortJobs) {
  const auto pool = pool_executor(4);
  std::vector<std::size_t> values(64);
  for (std::size_t round = 1; round <= 20000; ++round) {
    const std::size_t count = round * 7 % values.size() + 1;
    pool->run(count, [&](std::size_t i) { values[i] += round + i; });
    if (round % 4096 == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  std::vector<std::size_t> expected(values.size());
  for (std::size_t round = 1; round <= 20000; ++round) {
    for (std::size_t i = 0; i < round * 7 % values.size() + 1; ++i) expected[i] += round + i;
  }
  EXPECT_EQ(values, expected);
}

TEST(ThreadPool, PassesOnWhatTasksThrow) {
  const auto pool = pool_executor(3);
  for (int again = 0; again < 100; ++again) {
    EXPECT_THROW(run_tasks(*pool, 5,
                           [](std::size_t i) {
                             if (i > 1) throw std::runtime_error("task");
                           }),
                 std::runtime_error);
  }
  EXPECT_TRUE(each_once(*pool, 100));
}

TEST(ThreadPool, EndsInAnyState) {
  for (int again = 0; again < 100; ++again) {
    const auto pool = pool_executor(4);
    if (again % 4 == 0) continue;  // never used
    EXPECT_TRUE(each_once(*pool, 10));
    if (again % 4 == 2) std::this_thread::sleep_for(milliseconds(1));  // asleep
  }
}

TEST(ThreadPool, SleepsWhenIdle) {
  const auto pool = pool_executor(4);
  ASSERT_TRUE(together(*pool, 4));
  std::this_thread::sleep_for(milliseconds(10));
  const auto cpu_seconds = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double before = cpu_seconds();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_LT(cpu_seconds() - before, 0.01);
}

// Signals are for the program's own threads.
TEST(ThreadPool, LeavesSignalsToOthers) {
  const auto pool = pool_executor(3);
  const pthread_t self = pthread_self();
  std::atomic<int> open = 0;
  for (int again = 0; again < 10; ++again) {
    ASSERT_TRUE(together(*pool, 3));
    pool->run(3, [&](std::size_t) {
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      const bool expected = pthread_equal(pthread_self(), self) == 0;
      if ((sigismember(&blocked, SIGINT) == 1) != expected) ++open;
    });
  }
  EXPECT_EQ(open, 0);
}

/// Sets a variable of the environment, or removes it.
void set(const char* name, const char* value) {
  if (value == nullptr) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
}

TEST(ThreadPool, AsksTheEnvironmentForItsSize) {
  const char* ours = std::getenv("TANDEM_NUM_THREADS");
  const char* openmp = std::getenv("OMP_NUM_THREADS");
  const std::string ours_before = ours != nullptr ? ours : "";
  const std::string openmp_before = openmp != nullptr ? openmp : "";
  set("TANDEM_NUM_THREADS", nullptr);
  set("OMP_NUM_THREADS", nullptr);
  cpu_set_t cores;
  ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  const int usual = CPU_COUNT(&cores);
  EXPECT_EQ(pool_executor()->threads(), usual);
  set("OMP_NUM_THREADS", "5,2");
  EXPECT_EQ(pool_executor()->threads(), 5);
  set("TANDEM_NUM_THREADS", "3");
  EXPECT_EQ(pool_executor()->threads(), 3);
  EXPECT_EQ(pool_executor(2)->threads(), 2);
  set("OMP_NUM_THREADS", nullptr);
  for (const char* nonsense : {"", "0", "-2", "many", "99999999999999999999"}) {
    set("TANDEM_NUM_THREADS", nonsense);
    EXPECT_EQ(pool_executor()->threads(), usual) << nonsense;
  }
  set("TANDEM_NUM_THREADS", ours != nullptr ? ours_before.c_str() : nullptr);
  set("OMP_NUM_THREADS", openmp != nullptr ? openmp_before.c_str() : nullptr);
}

// ---- Other processes -----------------------------------------------------------------------------

#ifdef __SANITIZE_THREAD__
#define TANDEM_NEEDS_FORK() GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork"
#else
#define TANDEM_NEEDS_FORK() static_cast<void>(0)
#endif

/// True if a child says so; one that hangs is ended.
bool in_child(const std::function<bool()>& action, pid_t (*fork_it)() = fork) {
  const pid_t child = fork_it();
  if (child == 0) {
    alarm(60);
    _exit(action() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST(ThreadPoolFork, ChildrenHaveThreadsOfTheirOwn) {
  TANDEM_NEEDS_FORK();
  const auto pool = pool_executor(3), unused = pool_executor(3);
  ASSERT_TRUE(together(*pool, 3));
  EXPECT_TRUE(in_child([&] {
    return together(*pool, 3) && together(*unused, 3) && each_once(*pool_executor(4), 100) &&
           in_child([&] { return together(*pool, 3); }) && together(*pool, 3);
  }));
  EXPECT_TRUE(together(*pool, 3));
  EXPECT_TRUE(together(*unused, 3));
}

// The end of a child runs destructors of what the parent made.
TEST(ThreadPoolFork, ChildrenEndThePool) {
  TANDEM_NEEDS_FORK();
  auto pool = pool_executor(3);
  ASSERT_TRUE(together(*pool, 3));
  for (const bool used : {false, true}) {
    EXPECT_TRUE(in_child([&] {
      if (used && !together(*pool, 3)) return false;
      pool.reset();
      return true;
    }));
  }
}

TEST(ThreadPoolFork, ChildrenStepOptimizersAsTheParentDoes) {
  TANDEM_NEEDS_FORK();
  constexpr std::size_t kDimension = 300001;
  const auto pool = pool_executor(3);
  std::vector<float> weights(kDimension), gradient(kDimension);
  for (std::size_t i = 0; i < kDimension; ++i) {
    weights[i] = (static_cast<float>(i % 17) - 8) * 1e-3F;
    gradient[i] = (static_cast<float>(i % 13) - 6) * 1e-3F;
  }
  std::vector<float> expected = weights;
  RankOneTO optimizer(kDimension), twin(kDimension);
  optimizer.set_executor(pool);
  twin.set_executor(serial_executor());
  optimizer.step(weights, gradient);
  for (int step = 0; step < 4; ++step) twin.step(expected, gradient);
  const auto three_more = [&] {
    for (int step = 0; step < 3; ++step) optimizer.step(weights, gradient);
    return weights == expected;  // and no NaN
  };
  EXPECT_TRUE(in_child(three_more));
  EXPECT_TRUE(three_more());
}

TEST(ThreadPoolFork, MayComeWhileOthersWork) {
  TANDEM_NEEDS_FORK();
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's memory may stay locked in the child";
#endif
  const auto pool = pool_executor(3);
  std::atomic<bool> enough = false, wrong = false;
  std::thread worker([&] {
    while (!enough) {
      if (!each_once(*pool, 100) || default_executor() == nullptr ||
          !each_once(*pool_executor(2), 9))
        wrong = true;
    }
  });
  for (int again = 0; again < 50; ++again) {
    EXPECT_TRUE(in_child([&] {
      return together(*pool, 3) && each_once(*pool, 100) && each_once(*default_executor(), 10);
    }));
  }
  enough = true;
  worker.join();
  EXPECT_FALSE(wrong);
}

// A child that knows nothing of the fork takes its threads for slow ones.
TEST(ThreadPoolFork, NobodyWaitsForAThreadWithoutATask) {
  TANDEM_NEEDS_FORK();
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  const auto pool = pool_executor(3);
  ASSERT_TRUE(together(*pool, 3));
  for (const int pause : {0, 20}) {  // lingering, asleep
    std::this_thread::sleep_for(milliseconds(pause));
    EXPECT_TRUE(in_child([&] { return each_once(*pool, 3) && each_once(*pool, 100); }, _Fork));
  }
#endif
}

TEST(ThreadPoolFork, WithoutThreadsTheCallerDoesTheWork) {
  TANDEM_NEEDS_FORK();
#ifndef __SANITIZE_ADDRESS__
  EXPECT_TRUE(in_child([] {
    const rlimit little = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};  // no room for a stack
    const auto pool = pool_executor(64);
    setrlimit(RLIMIT_AS, &little);
    return each_once(*pool, 64) && each_once(*pool, 1000);
  }));
#endif
}

}  // namespace
}  // namespace tandem
