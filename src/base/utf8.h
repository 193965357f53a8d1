// SPDX-License-Identifier: MIT
// Reading UTF-8 that may be damaged.
#pragma once

#include <cstddef>
#include <string_view>

namespace tandem {

struct Character {
  std::size_t bytes = 0;  // 0: there is no valid character
  char32_t code = 0;
};

/// The character at the start of a text that is not empty. Overlong forms and surrogates are not
/// valid.
inline Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  char32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {length, code};
}

}  // namespace tandem
