// SPDX-License-Identifier: MIT
#include "base/fail.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace tandem {

std::string file_message(std::string_view file, std::string_view place, std::string_view found,
                         std::string_view expected) {
  return fmt::format("{}{}{}: found {}, expected {}", file, place.empty() ? "" : ", ", place, found,
                     expected);
}

std::string at_byte(std::uint64_t byte) { return fmt::format("byte {}", byte); }

std::string count_of_bytes(std::uint64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

std::string shown(std::string_view text, std::size_t longest) {
  return fmt::format("'{}'", printable(text, longest));
}

}  // namespace tandem
