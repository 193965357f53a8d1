// SPDX-License-Identifier: MIT
// What is thrown for a checkpoint that cannot be used; fail<CheckpointError>() makes its messages.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/fail.h"

namespace tandem::llama {

/// The message names the file, the place in it, what was found and what was expected.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Text from a file, in quotes: what is not plain ASCII is escaped, what is long is cut.
std::string in_quotes(std::string_view text);
/// "[2, 3]"; the first few of many.
std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace tandem::llama
