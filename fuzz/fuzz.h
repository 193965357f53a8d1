// SPDX-License-Identifier: MIT
// What the fuzzers share: a reader gets the bytes, and may refuse them with DataError but do
// nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "data/byte_source.h"
#include "data/dataset.h"

namespace tandem::fuzz {

template <class Read>
int run(const std::uint8_t* bytes, std::size_t size, Read read) {
  try {
    read(std::span(bytes, size));
  } catch (const data::DataError&) {
  }
  return 0;
}

/// For readers that take any source.
template <class Read>
int run_source(const std::uint8_t* bytes, std::size_t size, Read read) {
  return run(bytes, size, [&](std::span<const std::uint8_t> all) {
    data::MemorySource source("fuzz", all);
    read(source);
  });
}

/// Stops the fuzzer: what a reader returned breaks its own promise.
inline void require(bool promise) {
  if (!promise) __builtin_trap();
}

}  // namespace tandem::fuzz
