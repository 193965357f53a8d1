// SPDX-License-Identifier: MIT
// The one form of a message about bad data: the file, the place in it, what was found, what was
// expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace tandem::data {

/// Throws DataError: "FILE, line 3: found 'x', expected a number". `place` may be empty.
[[noreturn]] void fail(std::string_view file, std::string_view place, std::string_view found,
                       std::string_view expected);

std::string at_line(std::uint64_t line);
std::string at_line(std::uint64_t line, std::string_view column);
std::string at_byte(std::uint64_t byte);

/// Text from a file in quotes: what cannot be printed is escaped, what is long is cut.
std::string shown(std::string_view text);

}  // namespace tandem::data
