// SPDX-License-Identifier: MIT
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <tandem/executor.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/buffer.h"

namespace tandem {
namespace {

TEST(Parallel, CoversEveryItemOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    const auto executor = pool_executor(threads);
    for (const std::size_t count : {0, 1, 2, 3, 10, 1000}) {
      std::vector<std::atomic<int>> seen(count);
      parallel_ranges(*executor, count, 1, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) ++seen[i];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

class CountingExecutor : public Executor {
 public:
  int threads() const override { return 4; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    tasks += count;
    for (std::size_t i = count; i > 0; --i) task(i - 1);
  }
  std::size_t tasks = 0;
};

TEST(Parallel, WakesNobodyForLittleWork) {
  CountingExecutor executor;
  std::size_t done = 0;
  const auto body = [&](std::size_t first, std::size_t last) { done += last - first; };
  parallel_ranges(executor, 19, 10, body);
  EXPECT_EQ(executor.tasks, 0U);
  parallel_ranges(executor, 30, 10, body);
  EXPECT_EQ(executor.tasks, 3U);  // three ranges of the least size, not four smaller ones
  parallel_ranges(executor, 1000, 10, body);
  EXPECT_EQ(executor.tasks, 7U);
  EXPECT_EQ(done, 19U + 30 + 1000);
}

// An exception that leaves a thread ends the program; these come back to the caller.
TEST(Parallel, PassesOnWhatBodiesThrow) {
  for (const std::shared_ptr<Executor>& executor : {pool_executor(4), serial_executor()}) {
    std::atomic<std::size_t> done = 0;
    const auto body = [&](std::size_t first, std::size_t last) {
      done += last - first;
      throw std::runtime_error("range at " + std::to_string(first));
    };
    try {
      parallel_ranges(*executor, 400, 100, body);
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "range at 0");  // the first, whichever thread was quicker
    }
    EXPECT_EQ(done, 400U);  // the others were not left out
  }
}

TEST(Executors, AreCheckedAndReplaceable) {
  EXPECT_THROW(pool_executor(-1), std::invalid_argument);
  EXPECT_THROW(pool_executor(1000000), std::invalid_argument);
  EXPECT_THROW(set_default_executor(nullptr), std::invalid_argument);
  EXPECT_EQ(pool_executor(3)->threads(), 3);
  EXPECT_EQ(serial_executor()->threads(), 1);
  const auto before = default_executor();
  set_default_executor(serial_executor());
  EXPECT_EQ(default_executor()->threads(), 1);
  set_default_executor(before);
  std::vector<std::size_t> order;
  serial_executor()->run(3, [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Buffer, IsZeroAlignedAndMovable) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
    Buffer<float> buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_EQ(buffer.bytes(), size * 4);
    for (const float value : buffer.span()) ASSERT_EQ(value, 0.0F);
    buffer[size - 1] = 5;
    Buffer<float> moved(std::move(buffer));
    EXPECT_EQ(moved[size - 1], 5);
    Buffer<float> assigned;
    EXPECT_TRUE(assigned.empty());
    assigned = std::move(moved);
    EXPECT_EQ(assigned[size - 1], 5);
  }
  EXPECT_THROW(Buffer<float>(std::size_t{1} << 60), std::bad_alloc);
}

}  // namespace
}  // namespace tandem
