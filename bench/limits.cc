// SPDX-License-Identifier: MIT
#include "bench/limits.h"

#include <atomic>
#include <cstdint>

#include "base/parallel.h"
#include "bench/measure.h"
#include "kernels/kernels.h"

namespace tandem::bench {
namespace {

constexpr std::size_t kGrain = 1 << 16;

}  // namespace

InPlaceLimit::InPlaceLimit(Executor& executor, std::size_t total_bytes)
    : x_(total_bytes / (2 * sizeof(float))), y_(x_.size()) {
  // Memory that was never written is one page of zeros, which would be read from the cache.
  fill_random(executor, x_.data(), x_.size(), 1, 1.0F);
  fill_random(executor, y_.data(), y_.size(), 2, 1.0F);
}

double InPlaceLimit::bytes() const { return 3.0 * static_cast<double>(x_.bytes()); }

double InPlaceLimit::sweep(Executor& executor) {
  return seconds_of([&] {
    parallel_ranges(executor, x_.size(), kGrain, [&](std::size_t first, std::size_t last) {
      kernels::kernels<float>().add_scaled(x_.data() + first, y_.data() + first, last - first, 0.5F,
                                           x_.data() + first);
    });
  });
}

double read_pass(Executor& executor, const Buffer<float>& data) {
  std::atomic<double> sum{0};
  return seconds_of([&] {
    parallel_ranges(executor, data.size(), kGrain, [&](std::size_t first, std::size_t last) {
      sum = sum +
            kernels::kernels<float>().dot(data.data() + first, data.data() + first, last - first);
    });
  });
}

void fill_random(Executor& executor, float* data, std::size_t count, unsigned seed, float scale) {
  parallel_ranges(executor, count, kGrain, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      std::uint64_t bits = (i + 1) * 0x9E3779B97F4A7C15ULL + seed;
      bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9ULL;
      bits ^= bits >> 29;
      data[i] = scale * (static_cast<float>(bits >> 40) * 0x1p-23F - 1.0F);
    }
  });
}

}  // namespace tandem::bench
