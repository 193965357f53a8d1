// SPDX-License-Identifier: MIT
#include "threads.h"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"

namespace tandem::optim::detail {
namespace {

class TorchExecutor : public Executor {
 public:
  int threads() const override {
#ifdef INTRA_OP_PARALLEL
    return at::in_parallel_region() ? 1 : at::get_num_threads();
#else
    return 1;  // parallel_for as it is compiled here stays on the caller's
#endif
  }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    at::parallel_for(0, static_cast<std::int64_t>(count), 1,
                     [&](std::int64_t first, std::int64_t last) {
                       for (std::int64_t i = first; i < last; ++i) {
                         task(static_cast<std::size_t>(i));
                       }
                     });
  }
};

}  // namespace

std::shared_ptr<Executor> torch_executor() {
  static const auto kExecutor = std::make_shared<TorchExecutor>();
  return kExecutor;
}

void for_each_item(const std::vector<std::size_t>& sizes, bool backwards,
                   const std::function<void(std::size_t)>& work) {
  constexpr std::size_t kElementsPerThread = std::size_t{1} << 15;
  constexpr std::size_t kItemsPerThread = 16;  // at least so many, or one thread has more to do
  const auto threads = static_cast<std::size_t>(torch_executor()->threads());
  std::size_t total = 0;
  for (const std::size_t size : sizes) total += size;
  const auto large = [&](std::size_t i) {
    return threads == 1 || total < 2 * kElementsPerThread ||
           sizes[i] * threads * kItemsPerThread > total;
  };
  std::vector<std::size_t> small;
  std::size_t small_total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (large(i)) continue;
    small.push_back(i);
    small_total += sizes[i];
  }
  // Thread t has those whose middle is in its part of all elements.
  std::vector<std::vector<std::size_t>> share(threads);
  std::size_t before = 0;
  for (const std::size_t i : small) {
    share[(before + sizes[i] / 2) * threads / small_total].push_back(i);
    before += sizes[i];
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (large(i)) work(i);
  }
  if (small.empty()) return;
  run_tasks(*torch_executor(), threads, [&](std::size_t t) {
    const at::NoGradGuard no_grad;  // of this thread
    if (backwards) std::reverse(share[t].begin(), share[t].end());
    for (const std::size_t i : share[t]) work(i);
  });
}

}  // namespace tandem::optim::detail
