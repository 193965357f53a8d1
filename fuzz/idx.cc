// SPDX-License-Identifier: MIT
#include "data/idx.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const std::size_t dimensions : {1, 3}) {
    tandem::fuzz::run_source(bytes, size, [&](tandem::data::ByteSource& source) {
      const auto array = tandem::data::read_idx(source, dimensions);
      std::size_t count = 1;
      for (const std::size_t s : array.sizes) count *= s;
      tandem::fuzz::require(count == array.bytes.size());
    });
  }
  return 0;
}
