// SPDX-License-Identifier: MIT
#include "data/nsl_kdd.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return tandem::fuzz::run_source(bytes, size, [](tandem::data::ByteSource& source) {
    const auto table = tandem::data::read_nsl_kdd(source);
    for (const auto& column : table.columns) {
      tandem::fuzz::require(column.numbers.size() + column.ids.size() == table.rows());
    }
  });
}
