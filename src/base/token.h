// SPDX-License-Identifier: MIT
// Names that nobody can guess and nothing else has.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

namespace tandem {

/// 128 bits from the system's source of randomness, as hexadecimal digits.
inline std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace tandem
