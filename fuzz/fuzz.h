// SPDX-License-Identifier: MIT
// What the fuzzers share: a reader gets the bytes, and may refuse them with DataError but do
// nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

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

/// For readers whose results point into the bytes, and that refuse them with another Error. The
/// bytes are in memory of their own, so that the sanitizer sees one too many.
template <class Error, class Read>
void run_copy(std::span<const std::uint8_t> file, Read read) {
  const std::vector<std::uint8_t> copy(file.begin(), file.end());
  try {
    read(std::as_bytes(std::span(copy)));
  } catch (const Error&) {
  }
}

/// Stops the fuzzer: what a reader returned breaks its own promise.
inline void require(bool promise) {
  if (!promise) __builtin_trap();
}

}  // namespace tandem::fuzz
