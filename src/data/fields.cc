// SPDX-License-Identifier: MIT
#include "data/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace tandem::data {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  // Also false for NaN.
  if (!(std::abs(value) <= std::numeric_limits<float>::max())) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

const std::vector<std::string_view>* FieldSplitter::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  std::size_t at = 0;
  for (;;) {
    std::size_t content = at;
    while (content < line.size() && (line[content] == ' ' || line[content] == '\t') &&
           line[content] != separator_) {
      ++content;
    }
    if (content < line.size() && line[content] == '"') {
      at = content;
      if (!take_quoted(line, at)) return nullptr;
    } else {
      const std::size_t end = std::min(line.find(separator_, at), line.size());
      fields_.push_back(trim(line.substr(at, end - at)));
      at = end;
    }
    if (at == line.size()) return &fields_;
    ++at;  // the separator; a field follows it, if only an empty one
  }
}

/// From the quote at `at` to the separator behind the closing quote.
bool FieldSplitter::take_quoted(std::string_view line, std::size_t& at) {
  std::string& text = unquoted_.emplace_back();
  for (++at; at < line.size(); ++at) {
    if (line[at] != '"') {
      text += line[at];
    } else if (at + 1 < line.size() && line[at + 1] == '"') {
      text += line[at++];
    } else {
      const std::size_t end = std::min(line.find(separator_, ++at), line.size());
      if (!trim(line.substr(at, end - at)).empty()) return false;
      at = end;
      fields_.emplace_back(text);
      return true;
    }
  }
  return false;
}

}  // namespace tandem::data
