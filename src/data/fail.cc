// SPDX-License-Identifier: MIT
#include "data/fail.h"

#include <fmt/format.h>

namespace tandem::data {

std::string at_line(std::uint64_t line) { return fmt::format("line {}", line); }

std::string at_line(std::uint64_t line, std::string_view column) {
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace tandem::data
