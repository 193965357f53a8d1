// SPDX-License-Identifier: MIT
// The text format of LIBSVM and SVMlight: `LABEL INDEX:VALUE INDEX:VALUE ...` a line, indices from
// 1 and ascending; what follows a # is a comment. Chang and Lin 2011, "LIBSVM: a library for
// support vector machines".
#pragma once

#include <cstdint>
#include <vector>

#include "data/byte_source.h"

namespace tandem::data {

/// Indices above this are taken for damage: the widest set on LIBSVM's page has 54686452 features.
inline constexpr std::uint64_t kLargestLibsvmIndex = std::uint64_t{1} << 27;
/// More labels than this are the values of a regression, not classes.
inline constexpr std::size_t kMostClasses = 4096;

struct LibsvmRows {
  std::size_t features = 0;            // the largest index
  std::vector<std::uint64_t> offsets;  // rows + 1
  std::vector<std::uint32_t> columns;  // index - 1
  std::vector<float> values;
  std::vector<std::uint32_t> labels;  // positions in classes
  std::vector<double> classes;        // the labels of the file, ascending
  std::uint64_t dropped = 0;          // values of features above the largest allowed index

  std::size_t rows() const { return labels.size(); }
};

/// All rows of the stream. With `like`, the labels must be among its classes, and features beyond
/// its own are dropped and counted: a model trained on `like` has no weights for them. Throws
/// DataError.
LibsvmRows read_libsvm(ByteSource& source, const LibsvmRows* like = nullptr);

}  // namespace tandem::data
