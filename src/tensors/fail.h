// SPDX-License-Identifier: MIT
// Places and values in a file of tensors, for messages of fail<TensorFileError>().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fail.h"
#include "tensors/safetensors.h"

namespace tandem::tensors {

std::string at_tensor(std::string_view name);

/// Text from a file: what is not plain ASCII is escaped, what is long is cut.
std::string printable(std::string_view text);
/// The same in quotes.
std::string shown(std::string_view text);
/// "[2, 3]"; the first few of many.
std::string shown(std::span<const std::uint64_t> numbers);

}  // namespace tandem::tensors
