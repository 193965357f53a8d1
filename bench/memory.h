// SPDX-License-Identifier: MIT
// The peak memory of this process, as the kernel tells it.
#pragma once

namespace tandem::bench {

/// Peak resident bytes since the last reset; 0 where /proc does not tell.
double peak_bytes();
void reset_peak();

}  // namespace tandem::bench
