// SPDX-License-Identifier: MIT
#include "llama/error.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "tensors/fail.h"

namespace tandem::llama {

void fail(std::string_view file, std::string_view place, std::string_view found,
          std::string_view expected) {
  throw CheckpointError(fmt::format("{}{}{}: found {}, expected {}", file,
                                    place.empty() ? "" : ", ", place, found, expected));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  return fmt::format("'{}'", printable(text, kLongest));
}

std::string shape_text(std::span<const std::uint64_t> shape) { return tensors::shown(shape); }

}  // namespace tandem::llama
