// SPDX-License-Identifier: MIT
// The binary format of CIFAR-10: records of a label byte (0 to 9) and 3072 pixel bytes, 32 x 32
// red, then green, then blue. Krizhevsky 2009, "Learning multiple layers of features from tiny
// images".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/byte_source.h"

namespace tandem::data {

inline constexpr std::size_t kCifarPixels = 3072;

struct CifarBatch {
  std::vector<std::uint8_t> pixels;  // kCifarPixels a label
  std::vector<std::uint8_t> labels;
};

/// Appends all records of the stream. Throws DataError.
void read_cifar(ByteSource& source, CifarBatch& batch);

}  // namespace tandem::data
