// SPDX-License-Identifier: MIT
#include "base/float_environment.h"

#include <gtest/gtest.h>
#include <tandem/executor.h>

#include <atomic>
#include <cfenv>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/parallel.h"

namespace tandem {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool kKnown = true;
#else
constexpr bool kKnown = false;
#endif

constexpr float kLeast = std::numeric_limits<float>::min();

/// The product at run time, in whatever environment there is: the compiler must not know the
/// factors.
template <class T>
T product(T x, T y) {
  volatile T first = x;
  volatile T second = y;
  asm volatile("" ::: "memory");
  return first * second;
}

/// Whether results and operands that are denormal count as zero.
bool flushes() {
  const float denormal = kLeast / 4;  // by the compiler
  return product(kLeast, 0.25F) == 0 && product(denormal, 1e10F) == 0 &&
         product(std::numeric_limits<double>::min(), 0.25) == 0;
}

/// Puts the thread's environment back after a test that changes it.
class FloatEnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kKnown) GTEST_SKIP() << "this processor's environment is left alone";
  }
  void TearDown() override { std::fesetenv(FE_DFL_ENV); }
};

TEST_F(FloatEnvironmentTest, FlushesInsideAndNotAfterwards) {
  EXPECT_FALSE(flushes());
  {
    const FlushDenormals flush;
    EXPECT_TRUE(flushes());
    {
      const FlushDenormals again;
      EXPECT_TRUE(flushes());
    }
    EXPECT_TRUE(flushes());
    {
      const CallersFloatEnvironment callers;
      EXPECT_FALSE(flushes());
      {
        const FlushDenormals task;
        EXPECT_TRUE(flushes());
      }
      EXPECT_FALSE(flushes());
    }
    EXPECT_TRUE(flushes());
  }
  EXPECT_FALSE(flushes());
  const CallersFloatEnvironment nothing;  // outside of any scope
  EXPECT_FALSE(flushes());
}

TEST_F(FloatEnvironmentTest, RestoresRoundingAndFlags) {
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const int raised : {0, FE_DIVBYZERO, FE_ALL_EXCEPT}) {
      std::fesetround(rounding);
      std::feclearexcept(FE_ALL_EXCEPT);
      std::feraiseexcept(raised);
      const FloatEnvironment before = float_environment();
      {
        const FlushDenormals flush;
        EXPECT_EQ(product(1.0F + 0x1p-23F, 1.0F + 0x1p-23F), 1.0F + 0x1p-22F);  // to nearest
        product(kLeast, 0.25F);
        product(std::numeric_limits<float>::infinity(), 0.0F);  // raises, and does not trap
      }
      EXPECT_EQ(float_environment(), before);
      EXPECT_EQ(std::fegetround(), rounding);
      EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), raised);
    }
  }
}

TEST_F(FloatEnvironmentTest, KeepsACallerWhoFlushesHimself) {
  FloatEnvironment own;
  {
    const FlushDenormals flush;
    own = float_environment();
  }
  set_float_environment(own);
  {
    const FlushDenormals flush;
    product(1.0F, std::numeric_limits<float>::max());
    product(std::numeric_limits<float>::max(), 2.0F);  // overflows
  }
  EXPECT_EQ(float_environment(), own);
  EXPECT_TRUE(flushes());
}

TEST_F(FloatEnvironmentTest, IsThatOfEveryBody) {
  for (const std::shared_ptr<Executor>& executor : {serial_executor(), pool_executor(3)}) {
    for (const std::size_t count : {1, 100}) {  // here, and on threads
      std::atomic<int> missed = 0;
      parallel_ranges(*executor, count, 1, [&](std::size_t, std::size_t) {
        if (!flushes()) ++missed;
      });
      run_tasks(*executor, count, [&](std::size_t) {
        if (!flushes()) ++missed;
      });
      EXPECT_EQ(missed, 0);
      EXPECT_FALSE(flushes());
    }
  }
}

TEST_F(FloatEnvironmentTest, IsRestoredWhenABodyThrows) {
  std::fesetround(FE_UPWARD);
  const FloatEnvironment before = float_environment();
  for (const std::size_t count : {1, 100}) {
    EXPECT_THROW(parallel_ranges(*pool_executor(3), count, 1,
                                 [](std::size_t, std::size_t) {
                                   product(kLeast, 0.25F);
                                   throw std::runtime_error("here");
                                 }),
                 std::runtime_error);
    EXPECT_EQ(float_environment(), before);
  }
}

// A thread begins with the environment of the one that starts it.
TEST_F(FloatEnvironmentTest, IsNotInheritedByThreadsThatAnExecutorStarts) {
  // A new thread has a pool of its own in OpenMP, which starts in the middle of our scope.
  std::thread([] {
    const auto executor = pool_executor(4);
    {
      const FlushDenormals step;
      run_tasks(*executor, 4, [](std::size_t) {});
      EXPECT_TRUE(flushes());
    }
    std::vector<FloatEnvironment> seen(4);
    executor->run(4, [&](std::size_t i) { seen[i] = float_environment(); });
    for (const FloatEnvironment& environment : seen) {
      EXPECT_EQ(environment.control, float_environment().control);
    }
    EXPECT_FALSE(flushes());
  }).join();
}

}  // namespace
}  // namespace tandem
