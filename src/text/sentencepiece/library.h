// SPDX-License-Identifier: MIT
// The line between the program and tandem_sentencepiece.so: plain data alone cross it, and no
// exception does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::text::sentencepiece {

struct Model;

/// Take what is valid during the call alone. `to` is what the caller of the library gave.
using TokenSink = void (*)(void* to, const std::int32_t* tokens, std::size_t count);
using TextSink = void (*)(void* to, const char* text, std::size_t size);

struct Library {
  /// Null after `error` got a message.
  Model* (*open)(const char* bytes, std::size_t size, TextSink error, void* to);
  void (*close)(Model* model);
  std::size_t (*vocabulary)(const Model* model);
  std::int32_t (*bos)(const Model* model);  // -1: there is none
  std::int32_t (*eos)(const Model* model);
  /// False after `error` got a message. Tokens to decode are in the vocabulary.
  bool (*encode)(const Model* model, const char* text, std::size_t size, TokenSink tokens,
                 TextSink error, void* to);
  bool (*decode)(const Model* model, const std::int32_t* tokens, std::size_t count, TextSink text,
                 TextSink error, void* to);
};

/// The one symbol of the library: `extern "C" const Library* tandem_sentencepiece_v1()`. The number
/// goes up with every change of this file.
using Entry = const Library* (*)();
inline constexpr const char* kEntryName = "tandem_sentencepiece_v1";

}  // namespace tandem::text::sentencepiece
