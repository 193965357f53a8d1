// SPDX-License-Identifier: MIT
// NSL-KDD: lines of 41 properties of a network connection between commas, three of them words, then
// either the name of the attack (or `normal`) and a difficulty, as in the .txt files, or `normal`
// or `anomaly` alone, as in the .csv file. Tavallaee, Bagheri, Lu and Ghorbani 2009, "A detailed
// analysis of the KDD CUP 99 data set".
#pragma once

#include "data/byte_source.h"
#include "data/table.h"

namespace tandem::data {

/// 38 numeric columns and 3 categorical ones; classes normal and attack. Throws DataError.
Table read_nsl_kdd(ByteSource& source);

}  // namespace tandem::data
