// SPDX-License-Identifier: MIT
// The first half of the bytes is a training file, the second its test part.
#include "data/libsvm.h"

#include "fuzz/fuzz.h"

namespace {

void check(const tandem::data::LibsvmRows& rows) {
  using tandem::fuzz::require;
  require(rows.offsets.size() == rows.rows() + 1);
  require(rows.offsets.back() == rows.columns.size() && rows.columns.size() == rows.values.size());
  for (const std::uint32_t label : rows.labels) require(label < rows.classes.size());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (auto i = rows.offsets[row]; i < rows.offsets[row + 1]; ++i) {
      require(rows.columns[i] < rows.features);
      require(i == rows.offsets[row] || rows.columns[i - 1] < rows.columns[i]);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return tandem::fuzz::run(bytes, size, [](std::span<const std::uint8_t> all) {
    tandem::data::MemorySource train("train", all.first(all.size() / 2));
    const auto rows = tandem::data::read_libsvm(train);
    check(rows);
    tandem::data::MemorySource test("test", all.subspan(all.size() / 2));
    check(tandem::data::read_libsvm(test, &rows));
  });
}
