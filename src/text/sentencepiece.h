// SPDX-License-Identifier: MIT
// Models of SentencePiece (Llama's tokenizer.model). The library behind them does not bear LibTorch
// in one process, therefore it stands alone in tandem_sentencepiece.so (sentencepiece/), which is
// loaded when a model is opened, with symbols of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace tandem::text {

/// Invalid UTF-8 comes back as U+FFFD, U+2581 as a space; any other text as it was.
/// `name` is for messages; of `bytes` nothing is kept. Throws TokenizerError, also where
/// tandem_sentencepiece.so was not built.
std::unique_ptr<Tokenizer> read_sentencepiece(std::span<const std::byte> bytes,
                                              std::size_t vocabulary, const std::string& name);

}  // namespace tandem::text
