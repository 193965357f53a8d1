// SPDX-License-Identifier: MIT
// The one form of a message about a file of tensors: the file, the place in it, what was found,
// what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tandem::tensors {

/// Throws TensorFileError: "FILE, tensor 'w': found x, expected y". `place` may be empty.
[[noreturn]] void fail(std::string_view file, std::string_view place, std::string_view found,
                       std::string_view expected);

std::string at_byte(std::uint64_t byte);
std::string at_tensor(std::string_view name);

/// "1 byte", "8 bytes".
std::string count_of_bytes(std::uint64_t count);

/// Text from a file: what is not plain ASCII is escaped, what is long is cut.
std::string printable(std::string_view text);
/// The same in quotes.
std::string shown(std::string_view text);
/// "[2, 3]"; the first few of many.
std::string shown(std::span<const std::uint64_t> numbers);

}  // namespace tandem::tensors
