// SPDX-License-Identifier: MIT
#include "data/cifar.h"

#include <fmt/format.h>

#include "data/fail.h"

namespace tandem::data {

void read_cifar(ByteSource& source, CifarBatch& batch) {
  std::vector<std::uint8_t> record(1 + kCifarPixels);
  for (std::size_t count = 0;; ++count) {
    const std::uint64_t start = source.offset();
    const std::size_t got = source.read(record);
    if (got == 0) {
      if (count == 0) fail<DataError>(source.name(), "", "no records", "records of 3073 bytes");
      return;
    }
    if (got < record.size()) {
      fail<DataError>(source.name(), at_byte(start),
                      fmt::format("a last record of {} bytes, after {} records", got, count),
                      "records of 3073 bytes");
    }
    if (record[0] > 9) {
      fail<DataError>(source.name(), at_byte(start), fmt::format("the label {}", record[0]),
                      "0 to 9");
    }
    batch.labels.push_back(record[0]);
    batch.pixels.insert(batch.pixels.end(), record.begin() + 1, record.end());
  }
}

}  // namespace tandem::data
