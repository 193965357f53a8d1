// SPDX-License-Identifier: MIT
// What the machine can do at best, measured in the same run as what is compared with it.
#pragma once

#include <tandem/executor.h>

#include <cstddef>

#include "base/buffer.h"

namespace tandem::bench {

/// `x += c*y` over two arrays of float: the limit of every rule that updates weights in place.
class InPlaceLimit {
 public:
  /// Arrays of `total_bytes` together.
  InPlaceLimit(Executor& executor, std::size_t total_bytes);
  /// Seconds of one sweep.
  double sweep(Executor& executor);
  /// Bytes that a sweep moves: x and y read, x written.
  double bytes() const;

 private:
  Buffer<float> x_;
  Buffer<float> y_;
};

/// Seconds to read `data` once and do next to nothing with it.
double read_pass(Executor& executor, const Buffer<float>& data);

/// Fills in parallel, so that pages lie where the threads that use them are.
void fill_random(Executor& executor, float* data, std::size_t count, unsigned seed, float scale);

}  // namespace tandem::bench
