// SPDX-License-Identifier: MIT
// Text that others wrote (files, names, stores) as messages and terminals show it.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

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

/// Whether a terminal obeys it (control characters) or shows what stands beside it in another order
/// or on another line (marks of direction, separators of lines).
inline bool steers_terminals(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||
         (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

/// Text for a terminal. UTF-8 stays as it is; what steers terminals, and bytes that are not UTF-8,
/// become \xNN or \uNNNN. Line ends and tabs stay.
inline std::string visible(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    const bool line = text[0] == '\n' || text[0] == '\t' || text.starts_with("\r\n");
    const bool kept = line || !steers_terminals(next.code);
    if (next.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (kept) {
      result += text.substr(0, next.bytes);
    } else {
      const auto code = static_cast<unsigned>(next.code);
      result += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    }
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return result;
}

/// The same on one line: line ends and tabs become spaces.
inline std::string visible_line(std::string_view text) {
  std::string result = visible(text);
  for (char& c : result) {
    if (c == '\r' || c == '\n' || c == '\t') c = ' ';
  }
  return result;
}

}  // namespace tandem
