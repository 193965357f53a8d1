// SPDX-License-Identifier: MIT
#include "report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "report/escape.h"

namespace tandem::report {
namespace {

/// Bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    const bool starts = (static_cast<unsigned char>(text[bytes]) & 0xC0U) != 0x80U;
    if (starts && seen++ == count) break;
  }
  return bytes;
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
    const std::string_view columns = text;
    std::size_t width = 0;
    const auto [end, error] =
        std::from_chars(columns.data(), columns.data() + columns.size(), width);
    if (error == std::errc{} && end == columns.data() + columns.size() && width > 0) return width;
  }
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  return text.substr(0, bytes_of(text, count));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  std::vector<std::string> lines;
  while (characters(text) > width) {
    const std::size_t room = bytes_of(text, width);
    // A space just behind the room is as good as one inside.
    const std::size_t space = text.rfind(' ', room);
    const bool breaks = space != std::string_view::npos && text.find_first_not_of(' ') < space;
    lines.emplace_back(text.substr(0, breaks ? space : room));
    text.remove_prefix(breaks ? space + 1 : room);
    lines.back().erase(lines.back().find_last_not_of(' ') + 1);
  }
  lines.emplace_back(text);
  return lines;
}

std::string wrapped_text(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string result;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    for (const std::string& line : wrapped(text.substr(0, end), width)) result += line + "\n";
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  result.pop_back();
  return result;
}

}  // namespace tandem::report
