// SPDX-License-Identifier: MIT
#include "data/idx.h"

#include <fmt/format.h>

#include "data/fail.h"

namespace tandem::data {

IdxArray read_idx(ByteSource& source, std::size_t dimensions) {
  const std::vector<std::uint8_t> magic = read_bytes(source, 4, "the magic number");
  const auto found = fmt::format("the magic number {:02x} {:02x} {:02x} {:02x}", magic[0], magic[1],
                                 magic[2], magic[3]);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 0x08 || magic[3] != dimensions) {
    fail<DataError>(source.name(), at_byte(0), found,
                    fmt::format("00 00 08 {:02x}: unsigned bytes in {} dimension{}", dimensions,
                                dimensions, dimensions == 1 ? "" : "s"));
  }

  IdxArray array;
  std::uint64_t count = 1;
  const std::vector<std::uint8_t> header = read_bytes(source, 4 * dimensions, "the sizes");
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::uint64_t size = std::uint64_t{header[4 * i]} << 24 | header[4 * i + 1] << 16 |
                               header[4 * i + 2] << 8 | header[4 * i + 3];
    if (size == 0 || __builtin_mul_overflow(count, size, &count)) {
      fail<DataError>(source.name(), at_byte(4 + 4 * i), fmt::format("the size {}", size),
                      "sizes above 0 whose product is the number of elements");
    }
    array.sizes.push_back(size);
  }
  array.bytes = read_bytes(source, count, "elements");
  expect_end(source, "the last element");
  return array;
}

}  // namespace tandem::data
