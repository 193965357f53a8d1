// SPDX-License-Identifier: MIT
#include "data/norb.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "data/fail.h"

namespace tandem::data {
namespace {

constexpr std::uint32_t kBytes = 0x1E3D4C55;
constexpr std::uint32_t kInts = 0x1E3D4C54;

std::uint32_t little_endian(std::span<const std::uint8_t> bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | std::uint32_t{bytes[3]} << 24;
}

}  // namespace

NorbArray read_norb(ByteSource& source, NorbType type, std::size_t dimensions) {
  const std::uint32_t expected = type == NorbType::bytes ? kBytes : kInts;
  const std::uint32_t magic = little_endian(read_bytes(source, 4, "the magic number"));
  if (magic != expected) {
    fail<DataError>(source.name(), at_byte(0), fmt::format("the magic number {:08X}", magic),
                    fmt::format("{:08X}, a matrix of {}", expected,
                                type == NorbType::bytes ? "bytes" : "32-bit integers"));
  }
  const std::uint32_t count = little_endian(read_bytes(source, 4, "the number of dimensions"));
  if (count != dimensions) {
    fail<DataError>(source.name(), at_byte(4), fmt::format("{} dimensions", count),
                    fmt::format("{}", dimensions));
  }

  NorbArray array;
  const std::size_t written = std::max<std::size_t>(3, dimensions);  // the rest has no meaning
  const std::vector<std::uint8_t> header = read_bytes(source, 4 * written, "the sizes");
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::uint32_t size = little_endian(std::span(header).subspan(4 * i, 4));
    if (size == 0 || size > std::numeric_limits<std::int32_t>::max() ||
        __builtin_mul_overflow(elements, std::uint64_t{size}, &elements)) {
      fail<DataError>(source.name(), at_byte(8 + 4 * i), fmt::format("the size {}", size),
                      "sizes above 0 whose product is the number of elements");
    }
    array.sizes.push_back(size);
  }

  if (type == NorbType::bytes) {
    array.bytes = read_bytes(source, elements, "elements");
  } else {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(elements, std::uint64_t{4}, &bytes)) {
      fail<DataError>(source.name(), at_byte(8), fmt::format("{} elements", elements), "fewer");
    }
    const std::vector<std::uint8_t> raw = read_bytes(source, bytes, "elements");
    array.ints.reserve(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      array.ints.push_back(
          static_cast<std::int32_t>(little_endian(std::span(raw).subspan(4 * i, 4))));
    }
  }
  expect_end(source, "the last element");
  return array;
}

}  // namespace tandem::data
