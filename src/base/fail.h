// SPDX-License-Identifier: MIT
// The one form of a message about a file that cannot be used: the file, the place in it, what was
// found, what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

/// "FILE, line 3: found 'x', expected a number". `place` may be empty.
std::string file_message(std::string_view file, std::string_view place, std::string_view found,
                         std::string_view expected);

/// Throws Error, which each module has of its own, with that message.
template <class Error>
[[noreturn]] void fail(std::string_view file, std::string_view place, std::string_view found,
                       std::string_view expected) {
  throw Error(file_message(file, place, found, expected));
}

std::string at_byte(std::uint64_t byte);
/// "1 byte", "8 bytes".
std::string count_of_bytes(std::uint64_t count);
/// Text from a file in quotes: what is not plain ASCII is escaped, what is long is cut.
std::string shown(std::string_view text, std::size_t longest = 40);

}  // namespace tandem
