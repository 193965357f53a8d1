// SPDX-License-Identifier: MIT
// Text out of files as messages show it.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tandem {

/// The first `longest` bytes, those that are not printable ASCII as \xNN, and dots for the rest.
inline std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", byte);
    }
  }
  return result + (text.size() > longest ? "..." : "");
}

}  // namespace tandem
