// SPDX-License-Identifier: MIT
// The tokenizer files of llama2.c (tok512.bin): an int32, the bytes of the longest token, then for
// each token a float32 score, an int32 length and the bytes, all little-endian. Token 0 is unknown,
// 1 begins and 2 ends a text, 3 to 258 are the bytes, written <0x00> to <0xFF>. The number of
// tokens is not in the file: it is the model's vocabulary.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace tandem::text {

/// Byte-pair encoding, as llama2.c does it: characters become tokens, or bytes where there is no
/// token; then, again and again, the two neighbours that make the token of the best score together
/// are joined, the first ones where scores are equal. Tokens 0 to 258 are never made by joining; of
/// tokens with the same text the first is used. Any bytes come back from decode().
/// `name` is for messages; of `bytes` nothing is kept. Throws TokenizerError.
std::unique_ptr<Tokenizer> read_llama2c(std::span<const std::byte> bytes, std::size_t vocabulary,
                                        const std::string& name);

}  // namespace tandem::text
