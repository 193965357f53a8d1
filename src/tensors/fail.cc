// SPDX-License-Identifier: MIT
#include "tensors/fail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/printable.h"
#include "tensors/safetensors.h"

namespace tandem::tensors {

void fail(std::string_view file, std::string_view place, std::string_view found,
          std::string_view expected) {
  throw TensorFileError(fmt::format("{}{}{}: found {}, expected {}", file,
                                    place.empty() ? "" : ", ", place, found, expected));
}

std::string at_byte(std::uint64_t byte) { return fmt::format("byte {}", byte); }

std::string at_tensor(std::string_view name) { return "tensor " + shown(name); }

std::string count_of_bytes(std::uint64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

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
