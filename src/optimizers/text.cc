// SPDX-License-Identifier: MIT
#include "optimizers/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

namespace tandem {

std::string number_text(double value) { return fmt::format("{}", value); }

std::optional<double> read_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

void Scanner::skip_spaces() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

bool Scanner::take(std::string_view token) {
  skip_spaces();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!take(token)) fail(fmt::format("'{}'", token));
}

double Scanner::number() {
  skip_spaces();
  double value = 0;
  const char* begin = text_.data() + at_;
  const char* end = text_.data() + text_.size();
  const bool plus = begin < end && *begin == '+';
  const auto result = std::from_chars(begin + (plus ? 1 : 0), end, value);
  if (result.ec != std::errc{} || std::isnan(value)) fail("a number");
  at_ = static_cast<std::size_t>(result.ptr - text_.data());
  return value;
}

void Scanner::end() {
  skip_spaces();
  if (at_ != text_.size()) fail("the end");
}

void Scanner::fail(std::string_view expected) {
  skip_spaces();
  throw std::invalid_argument(fmt::format(
      "Invalid {} '{}': expected {} {}", what_, text_, expected,
      at_ < text_.size() ? fmt::format("at '{}'", text_.substr(at_)) : std::string("at the end")));
}

}  // namespace tandem
