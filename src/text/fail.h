// SPDX-License-Identifier: MIT
// The one form of a message about a tokenizer's file: the file, the place in it, what was found,
// what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::text {

/// Throws TokenizerError: "FILE, byte 4: found x, expected y". `place` may be empty.
[[noreturn]] void fail(std::string_view file, std::string_view place, std::string_view found,
                       std::string_view expected);
/// The tokenizer has another number of tokens than the model.
[[noreturn]] void fail_vocabulary(std::string_view file, std::size_t found, std::size_t expected);

std::string at_byte(std::uint64_t byte);
/// "1 byte", "8 bytes".
std::string count_of_bytes(std::uint64_t count);
/// Text from a file in quotes: what is not plain ASCII is escaped, what is long is cut.
std::string shown(std::string_view text);

/// Throws std::invalid_argument for a text that encode() does not take.
void check_length(std::string_view text);
/// Throws std::out_of_range.
[[noreturn]] void fail_token(std::int32_t token, std::size_t vocabulary);

}  // namespace tandem::text
