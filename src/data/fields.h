// SPDX-License-Identifier: MIT
// What lines of text are made of: fields between separators, and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::data {

/// Without spaces and tabs at both ends.
std::string_view trim(std::string_view text);

/// A number that is all of `text` (a leading + is fine) and finite as a float, or nothing.
std::optional<double> parse_number(std::string_view text);
/// Digits alone, below 2^64.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// Cuts lines of comma-separated values; "a ""quoted"" field" ends on its line.
class FieldSplitter {
 public:
  explicit FieldSplitter(char separator = ',') : separator_(separator) {}

  /// The fields, trimmed, valid as long as `line` and until the next call; nothing for a quote that
  /// does not end.
  const std::vector<std::string_view>* split(std::string_view line);

 private:
  bool take_quoted(std::string_view line, std::size_t& at);

  char separator_;
  std::vector<std::string_view> fields_;
  std::deque<std::string>
      unquoted_;  // of fields with quotes inside; a deque keeps its strings in place
};

}  // namespace tandem::data
