// SPDX-License-Identifier: MIT
#include "text/fail.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/printable.h"
#include "text/tokenizer.h"

namespace tandem::text {

void fail(std::string_view file, std::string_view place, std::string_view found,
          std::string_view expected) {
  throw TokenizerError(fmt::format("{}{}{}: found {}, expected {}", file, place.empty() ? "" : ", ",
                                   place, found, expected));
}

void fail_vocabulary(std::string_view file, std::size_t found, std::size_t expected) {
  fail(file, "", fmt::format("a tokenizer of {} tokens", found),
       fmt::format("one of {}, the model's vocabulary", expected));
}

std::string at_byte(std::uint64_t byte) { return fmt::format("byte {}", byte); }

std::string count_of_bytes(std::uint64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return fmt::format("'{}'", printable(text, kLongest));
}

void check_length(std::string_view text) {
  if (text.size() > Tokenizer::kLongestText) {
    throw std::invalid_argument(fmt::format("Cannot encode a text of {} bytes, expected at most {}",
                                            text.size(), Tokenizer::kLongestText));
  }
}

void fail_token(std::int32_t token, std::size_t vocabulary) {
  throw std::out_of_range(fmt::format("Invalid token {}, expected 0 to {}", token, vocabulary - 1));
}

}  // namespace tandem::text
