// SPDX-License-Identifier: MIT
// UCI's CoverType: lines of 10 whole numbers, 4 wilderness areas and 40 soil types as 0 or 1, and
// the class 1 to 7, between commas. Blackard and Dean 1999, "Comparative accuracies of artificial
// neural networks and discriminant analysis in predicting forest cover types".
#pragma once

#include "data/byte_source.h"
#include "data/table.h"

namespace tandem::data {

/// 10 numeric columns and 44 categorical ones with the words 0 and 1; classes 1 to 7. Throws
/// DataError.
Table read_covtype(ByteSource& source);

}  // namespace tandem::data
