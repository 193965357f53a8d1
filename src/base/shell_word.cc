// SPDX-License-Identifier: MIT
#include "base/shell_word.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace tandem {
namespace {

/// In octal with three digits: other escapes would take in digits that follow.
std::string escaped(std::string_view text) {
  std::string result = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      result += {'\\', c};
    } else if (byte >= 0x20 && byte < 0x7F) {
      result += c;
    } else {
      result += fmt::format("\\{:03o}", byte);
    }
  }
  return result + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  const bool lines = text.find_first_of("\n\t") != std::string_view::npos;
  if (lines || visible(text) != text) return escaped(text);
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace tandem
