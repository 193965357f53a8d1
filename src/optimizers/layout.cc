// SPDX-License-Identifier: MIT
#include "optimizers/layout.h"

namespace tandem {

Layout::Layout(std::span<const SegmentSpec> segments) : offsets_{0}, first_block_{0} {
  for (const SegmentSpec& segment : segments) {
    offsets_.push_back(offsets_.back() + segment.size);
    first_block_.push_back(first_block_.back() +
                           (segment.size + kernels::kBlock - 1) / kernels::kBlock);
  }
}

}  // namespace tandem
