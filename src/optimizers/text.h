// SPDX-License-Identifier: MIT
// Reads the small texts of options: numbers, and the scanner behind schedules and projections.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// The shortest text that reads back as the same number.
std::string number_text(double value);

/// A number that is all of `text`, or nothing.
std::optional<double> read_number(std::string_view text);

/// Walks over a text; spaces do not count.
class Scanner {
 public:
  /// `what` names the thing in messages: "schedule".
  Scanner(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  /// Takes `token` if it is next.
  bool take(std::string_view token);
  /// Takes `token` or throws.
  void expect(std::string_view token);
  /// Takes a number with an optional sign, or throws.
  double number();
  /// Throws unless everything was taken.
  void end();
  /// Throws std::invalid_argument: "Invalid schedule '0.1*': expected a number at the end".
  [[noreturn]] void fail(std::string_view expected);

 private:
  void skip_spaces();

  std::string_view what_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tandem
