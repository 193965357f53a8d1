// SPDX-License-Identifier: MIT
// Tokenizers that the tests make: one vocabulary, written in both formats.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace tandem::text {

struct Piece {
  std::string text;  // spaces as they are
  float score = 0;
};
using Pieces = std::vector<Piece>;

/// The special tokens, the bytes, and these.
inline Pieces with_bytes(const Pieces& texts) {
  Pieces all = {{"<unk>"}, {"<s>"}, {"</s>"}};
  for (int byte = 0; byte < 256; ++byte) all.push_back({fmt::format("<0x{:02X}>", byte)});
  all.insert(all.end(), texts.begin(), texts.end());
  return all;
}

inline std::string word(std::uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

inline std::string llama2c_token(const Piece& piece) {
  return word(std::bit_cast<std::uint32_t>(piece.score)) +
         word(static_cast<std::uint32_t>(piece.text.size())) + piece.text;
}

inline std::string llama2c_file(const Pieces& pieces) {
  std::size_t longest = 1;
  std::string tokens;
  for (const Piece& piece : pieces) {
    longest = std::max(longest, piece.text.size());
    tokens += llama2c_token(piece);
  }
  return word(static_cast<std::uint32_t>(longest)) + tokens;
}

// ---- Protobuf -----------------------------------------------------------------------------------

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string number_field(unsigned number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}

inline std::string bytes_field(unsigned number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

/// SentencePiece writes a space as U+2581.
inline std::string with_marks(std::string_view text) {
  std::string marked;
  for (const char c : text) marked += c == ' ' ? std::string("\u2581") : std::string(1, c);
  return marked;
}

inline std::string piece_field(const Piece& piece, unsigned type) {
  const std::string score = word(std::bit_cast<std::uint32_t>(piece.score));
  return bytes_field(1, bytes_field(1, with_marks(piece.text)) + varint(2 << 3 | 5) + score +
                            number_field(3, type));
}

/// Byte-pair encoding with bytes for what is unknown, spaces kept: as Llama's.
inline std::string trainer_field() {
  return bytes_field(2, number_field(3, 2) + number_field(35, 1));
}
inline std::string normalizer_field(std::string_view rules = "") {
  return bytes_field(3, bytes_field(1, "identity") + bytes_field(2, rules) + number_field(4, 0));
}

inline std::string piece_fields(const Pieces& pieces) {
  enum : unsigned { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };
  std::string fields;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const unsigned special = i == 0 ? kUnknown : (i < 3 ? kControl : kByte);
    fields += piece_field(pieces[i], i < 3 + 256 ? special : kNormal);
  }
  return fields;
}

inline std::string sentencepiece_file(const Pieces& pieces) {
  return piece_fields(pieces) + trainer_field() + normalizer_field();
}

// ---- Checks -------------------------------------------------------------------------------------

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Runs `work`, which must throw TokenizerError with a message that has all of these parts.
template <class Work>
void expect_refused(Work work, const std::vector<std::string>& parts) {
  try {
    work();
    ADD_FAILURE() << "no error, expected one with " << ::testing::PrintToString(parts);
  } catch (const TokenizerError& error) {
    const std::string message = error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' not in: " << message;
    }
  }
}

}  // namespace tandem::text
