// SPDX-License-Identifier: MIT
// Memory that runs out on demand, in the whole test program: operator new, aligned_alloc and mmap
// (the ways by which the library gets memory) are replaced by ones that count and can fail.
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>

namespace tandem::testing {

/// Of this thread and all others: the n-th request for memory from now on fails, counted from 1.
void fail_request(std::size_t n);
/// No request fails any more. True if one did since fail_request.
bool stop_failing();
/// Blocks that were taken and not given back.
std::ptrdiff_t live_blocks();

/// Runs `action` with its first request failing, then its second, and so on until it runs through.
/// `failed(n)` is called after each failure, when memory is there again. Returns how many there were.
template <class Action, class Failed>
std::size_t fail_each_request(const Action& action, const Failed& failed) {
  for (std::size_t n = 1;; ++n) {
    bool threw = false;
    fail_request(n);
    try {
      action();
    } catch (const std::exception&) {
      threw = true;
    }
    const bool ran_out = stop_failing();
    if (!threw && !ran_out) return n - 1;
    failed(n, threw);
  }
}

}  // namespace tandem::testing
