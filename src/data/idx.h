// SPDX-License-Identifier: MIT
// The idx format of MNIST and Fashion-MNIST: 00 00 TYPE DIMENSIONS, a big-endian 32-bit size for
// each dimension, the elements. LeCun, Cortes and Burges: "The MNIST database of handwritten
// digits". Elements are unsigned bytes (type 08) here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/byte_source.h"

namespace tandem::data {

struct IdxArray {
  std::vector<std::size_t> sizes;
  std::vector<std::uint8_t> bytes;  // the product of the sizes
};

/// All of the stream, which must have this number of dimensions. Throws DataError.
IdxArray read_idx(ByteSource& source, std::size_t dimensions);

}  // namespace tandem::data
