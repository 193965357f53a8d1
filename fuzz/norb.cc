// SPDX-License-Identifier: MIT
#include "data/norb.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using tandem::data::NorbType;
  for (const auto& [type, dimensions] : {std::pair{NorbType::bytes, 4}, {NorbType::ints, 1}}) {
    tandem::fuzz::run_source(bytes, size, [&, t = type, d = dimensions](auto& source) {
      const auto array = tandem::data::read_norb(source, t, d);
      std::size_t count = 1;
      for (const std::size_t s : array.sizes) count *= s;
      tandem::fuzz::require(count == array.bytes.size() + array.ints.size());
    });
  }
  return 0;
}
