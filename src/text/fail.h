// SPDX-License-Identifier: MIT
// Messages about tokenizers, beside those of fail<TokenizerError>().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/fail.h"
#include "text/tokenizer.h"

namespace tandem::text {

/// The tokenizer has another number of tokens than the model.
[[noreturn]] void fail_vocabulary(std::string_view file, std::size_t found, std::size_t expected);

/// Throws std::invalid_argument for a text that encode() does not take.
void check_length(std::string_view text);
/// Throws std::out_of_range.
[[noreturn]] void fail_token(std::int32_t token, std::size_t vocabulary);

}  // namespace tandem::text
