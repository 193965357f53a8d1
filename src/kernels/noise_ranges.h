// SPDX-License-Identifier: MIT
// Elements are numbered in 64 bits, the noise of stochastic rounding counts in 32 inside a vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

/// Calls body(offset, count, key, first number) for parts of a range inside which 32 bits suffice;
/// nearly always the range is one part.
template <class Body>
void for_noise_ranges(std::uint64_t key, std::uint64_t first_element, std::size_t count,
                      const Body& body) {
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t number = first_element + done;
    const std::uint64_t left = (std::uint64_t{1} << 32) - (number & 0xFFFFFFFFU);
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(left, count - done));
    body(done, now, key ^ ((number >> 32) * 0xD1342543DE82EF95ULL),
         static_cast<std::uint32_t>(number));
    done += now;
  }
}

}  // namespace tandem::kernels
