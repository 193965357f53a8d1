// SPDX-License-Identifier: MIT
#include "data/fail.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace tandem::data {

void fail(std::string_view file, std::string_view place, std::string_view found,
          std::string_view expected) {
  throw DataError(fmt::format("{}{}{}: found {}, expected {}", file, place.empty() ? "" : ", ",
                              place, found, expected));
}

std::string at_line(std::uint64_t line) { return fmt::format("line {}", line); }

std::string at_line(std::uint64_t line, std::string_view column) {
  return fmt::format("line {}, column {}", line, column);
}

std::string at_byte(std::uint64_t byte) { return fmt::format("byte {}", byte); }

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return fmt::format("'{}'", printable(text, kLongest));
}

}  // namespace tandem::data
