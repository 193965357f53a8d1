// SPDX-License-Identifier: MIT
// How a list of segments lies in the flat arrays of the state, and how it is cut into blocks of
// work.
#pragma once

#include <tandem/optimizer.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/pass.h"

namespace tandem {

/// Blocks never cross segments and depend on the sizes alone, so that sums do not depend on the
/// number of threads.
class Layout {
 public:
  explicit Layout(std::span<const SegmentSpec> segments);

  std::size_t dimension() const { return offsets_.back(); }
  std::size_t segments() const { return offsets_.size() - 1; }
  std::size_t offset(std::size_t segment) const { return offsets_[segment]; }
  std::size_t size(std::size_t segment) const { return offsets_[segment + 1] - offsets_[segment]; }
  std::size_t blocks() const { return first_block_.back(); }

  struct Block {
    std::size_t index;  // among all blocks
    std::size_t segment;
    std::size_t begin;  // within the segment
    std::size_t flat;   // within the flat arrays
    std::size_t count;
  };

  /// Calls body(Block) for the blocks [first, last), `together` of them at a time where they are
  /// neighbours in a segment: for loops whose result does not depend on the cut, and that would
  /// spend time on starting.
  template <class Body>
  void for_runs(std::size_t first, std::size_t last, std::size_t together, const Body& body) const {
    Block run{0, 0, 0, 0, 0};
    std::size_t blocks = 0;
    for_blocks(first, last, [&](const Block& block) {
      if (blocks > 0 && blocks < together && block.segment == run.segment) {
        run.count += block.count;
        ++blocks;
        return;
      }
      if (blocks > 0) body(run);
      run = block;
      blocks = 1;
    });
    if (blocks > 0) body(run);
  }

  /// Calls body(Block) for the blocks [first, last).
  template <class Body>
  void for_blocks(std::size_t first, std::size_t last, const Body& body) const {
    if (first >= last) return;
    std::size_t segment =
        static_cast<std::size_t>(std::upper_bound(first_block_.begin(), first_block_.end(), first) -
                                 first_block_.begin() - 1);
    for (std::size_t index = first; index < last; ++index) {
      while (index >= first_block_[segment + 1]) ++segment;
      const std::size_t begin = (index - first_block_[segment]) * kernels::kBlock;
      body(Block{index, segment, begin, offsets_[segment] + begin,
                 std::min(kernels::kBlock, size(segment) - begin)});
    }
  }

 private:
  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> first_block_;
};

/// Blocks that a thread must have to be worth waking.
inline constexpr std::size_t kBlocksPerThread = 8;

}  // namespace tandem
