// SPDX-License-Identifier: MIT
// The binary matrix format of SmallNORB: a little-endian 32-bit magic number that tells the type,
// the number of dimensions, at least three sizes, the elements. LeCun, Huang and Bottou 2004,
// "Learning methods for generic object recognition with invariance to pose and lighting".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/byte_source.h"

namespace tandem::data {

struct NorbArray {
  std::vector<std::size_t> sizes;
  std::vector<std::uint8_t> bytes;  // of a byte matrix: the product of the sizes
  std::vector<std::int32_t> ints;   // of an int32 matrix
};

enum class NorbType { bytes, ints };

/// All of the stream, which must have this type and number of dimensions. Throws DataError.
NorbArray read_norb(ByteSource& source, NorbType type, std::size_t dimensions);

}  // namespace tandem::data
