// SPDX-License-Identifier: MIT
// Comma-separated values with a header line. A column is numeric or categorical by its first value,
// or because it is said to be; the classes are the values of one column.
#pragma once

#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/table.h"

namespace tandem::data {

struct CsvOptions {
  char separator = ',';
  std::string label;                     // name of the column; empty: the last
  std::vector<std::string> categorical;  // names of columns whose numbers are words
};

/// More different words than this in a column are no categories.
inline constexpr std::size_t kMostWords = 1000;

/// All rows. With `like`, columns must have the same names, and the kinds and classes of `like`
/// hold. Throws DataError; std::invalid_argument for a column that is not there.
Table read_csv(ByteSource& source, const CsvOptions& options, const Table* like = nullptr);

}  // namespace tandem::data
