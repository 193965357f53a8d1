// SPDX-License-Identifier: MIT
#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tandem {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int, 256> kValues = [] {
  std::array<int, 256> values{};
  for (int& value : values) value = -1;
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<int>(i);
  }
  return values;
}();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kLetters[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::string_view group = text.substr(i, 4);
    const bool last = i + 4 == text.size();
    const std::size_t pads =
        last ? std::min<std::size_t>(2, 4 - std::min<std::size_t>(4, group.find('='))) : 0;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const bool pad = k >= 4 - pads;
      const int value = kValues[static_cast<unsigned char>(group[k])];
      if (pad ? group[k] != '=' : value < 0) return std::nullopt;
      bits = bits << 6U | (pad ? 0U : static_cast<std::uint32_t>(value));
    }
    for (std::size_t k = 0; k < 3 - pads; ++k) {
      bytes += static_cast<char>(bits >> (16 - 8 * k) & 255U);
    }
    // Only one text for the same bytes.
    if (pads > 0 && (bits & (pads == 1 ? 0xFFU : 0xFFFFU)) != 0) return std::nullopt;
  }
  return bytes;
}

}  // namespace tandem
