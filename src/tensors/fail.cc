// SPDX-License-Identifier: MIT
#include "tensors/fail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/printable.h"

namespace tandem::tensors {

std::string at_tensor(std::string_view name) { return "tensor " + shown(name); }

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  return tandem::printable(text, kLongest);
}

std::string shown(std::string_view text) { return fmt::format("'{}'", printable(text)); }

std::string shown(std::span<const std::uint64_t> numbers) {
  constexpr std::size_t kMost = 16;
  return fmt::format("[{}{}]", fmt::join(numbers.first(std::min(kMost, numbers.size())), ", "),
                     numbers.size() > kMost ? ", ..." : "");
}

}  // namespace tandem::tensors
