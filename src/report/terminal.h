// SPDX-License-Identifier: MIT
// How wide a terminal is, and text that keeps to a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::report {

/// Characters a line of what this file descriptor writes to: COLUMNS where it has a number, else
/// the terminal's; 0, which is no limit, where it is no terminal.
std::size_t terminal_width(int descriptor);

/// The first so many characters, or all of a shorter text.
std::string_view first_characters(std::string_view text, std::size_t count);

/// Lines of at most `width` characters, broken at spaces; a word that is longer is cut. At least one
/// line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Text of several lines, each of them wrapped; a width of 0 leaves it as it is.
std::string wrapped_text(std::string_view text, std::size_t width);

}  // namespace tandem::report
