// SPDX-License-Identifier: MIT
#include "text/fail.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tandem::text {

void fail_vocabulary(std::string_view file, std::size_t found, std::size_t expected) {
  fail<TokenizerError>(file, "", fmt::format("a tokenizer of {} tokens", found),
                       fmt::format("one of {}, the model's vocabulary", expected));
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
