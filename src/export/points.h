// SPDX-License-Identifier: MIT
// Every point of the runs of a store, a line each, for programs: CSV and JSON lines.
#pragma once

#include <cstddef>
#include <iosfwd>

#include "export/runs.h"

namespace tandem::exporting {

/// RFC 4180 with a line of titles. Numbers are in the shortest form that reads back as the same
/// bits; NaN is an empty field.
std::size_t write_csv(const store::Store& store, const Selection& selection, std::ostream& stream);

/// An object a line, with the same names. What JSON has no number for is null.
std::size_t write_json_lines(const store::Store& store, const Selection& selection,
                             std::ostream& stream);

}  // namespace tandem::exporting
