// SPDX-License-Identifier: MIT
// Numbers of bytes as people read them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>

namespace tandem {

/// "196 B", "150.8 KiB", "39.9 GiB": the largest unit of which there is one or more.
inline std::string bytes_text(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

inline std::string bytes_text(std::size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace tandem
