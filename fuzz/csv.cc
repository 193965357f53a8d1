// SPDX-License-Identifier: MIT
#include "data/csv.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return tandem::fuzz::run(bytes, size, [](std::span<const std::uint8_t> all) {
    tandem::data::MemorySource source("fuzz", all);
    const auto table = tandem::data::read_csv(source, {});
    const auto rows = tandem::data::all_rows(table.rows());
    for (const auto& column : table.columns) {
      tandem::fuzz::require(column.numbers.size() + column.ids.size() == rows.size());
    }
    const tandem::data::TableEncoder encoder(table, rows);
    if (rows.size() * encoder.inputs() > std::size_t{1} << 20) return;
    const auto data = encoder.encode(table, rows, true);
    for (const float value : data.dense.span()) tandem::fuzz::require(value - value == 0);
    // It reads itself as its own test part.
    tandem::data::MemorySource again("fuzz", all);
    tandem::fuzz::require(tandem::data::read_csv(again, {}, &table).labels == table.labels);
  });
}
