// SPDX-License-Identifier: MIT
// gzip and xz streams.
#include "data/compressed.h"

#include <memory>
#include <vector>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return tandem::fuzz::run(bytes, size, [](std::span<const std::uint8_t> all) {
    const auto source =
        tandem::data::decompress(std::make_unique<tandem::data::MemorySource>("fuzz", all));
    std::vector<std::uint8_t> buffer(1 << 16);
    while (source->read(buffer) == buffer.size()) {
      if (source->offset() > std::uint64_t{8} << 20) return;  // long enough for a fuzzer
    }
  });
}
