// SPDX-License-Identifier: MIT
// Between bfloat16 in memory and float in the cache.
#pragma once

#include <tandem/bfloat16.h>

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

/// Exact.
void widen(const BFloat16* from, std::size_t count, float* to);
/// To nearest, ties to even; a NaN stays one.
void narrow(const float* from, std::size_t count, BFloat16* to);
/// Up or down with the probability that keeps the mean; exact values, infinities and NaN stay as
/// they are. The noise is a function of the key and the element's number, so it does not depend on
/// how a range is cut.
void narrow_stochastic(const float* from, std::size_t count, BFloat16* to, std::uint64_t key,
                       std::uint64_t first_element = 0);

}  // namespace tandem::kernels
