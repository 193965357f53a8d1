// SPDX-License-Identifier: MIT
#include "text/model_proto.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "text/fail.h"

namespace tandem::text {
namespace {

constexpr std::size_t kLargestFile = std::size_t{256} << 20;

constexpr std::uint64_t kFirstField = 1;
constexpr std::uint64_t kLastField = (1U << 29) - 1;
// Fields of the model, of a piece and of the rules of normalisation.
constexpr std::uint64_t kPieces = 1;
constexpr std::uint64_t kNormalizer = 3;
constexpr std::uint64_t kDenormalizer = 5;
constexpr std::uint64_t kScore = 2;
constexpr std::uint64_t kCharacterMap = 2;

enum class Wire : std::uint8_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

struct Field {
  std::uint64_t start = 0;  // in the file
  std::uint64_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t content_start = 0;
  std::span<const std::byte> content;  // empty for a varint
};

/// The fields of one message, in order.
class MessageReader {
 public:
  /// `start`: where the message lies in the file.
  MessageReader(std::span<const std::byte> bytes, std::uint64_t start, const std::string& name)
      : bytes_(bytes), start_(start), name_(name) {}

  bool at_end() const { return at_ == bytes_.size(); }

  Field next() {
    Field field;
    field.start = place();
    const std::uint64_t key = take_varint();
    field.number = key >> 3;
    if (field.number < kFirstField || field.number > kLastField) {
      fail<TokenizerError>(
          name_, at_byte(field.start), fmt::format("a field of number {}", field.number),
          fmt::format("{} to {}, as in a model of SentencePiece", kFirstField, kLastField));
    }
    field.wire = static_cast<Wire>(key & 7);
    switch (field.wire) {
      case Wire::varint:
        take_varint();
        break;
      case Wire::eight_bytes:
        take(field, 8);
        break;
      case Wire::bytes:
        take(field, take_varint());
        break;
      case Wire::four_bytes:
        take(field, 4);
        break;
      default:
        fail<TokenizerError>(name_, at_byte(field.start),
                             fmt::format("a field of kind {}", key & 7),
                             "0, 1, 2 or 5, as in a model of SentencePiece");
    }
    return field;
  }

 private:
  std::uint64_t place() const { return start_ + at_; }

  std::uint64_t take_varint() {
    const std::uint64_t start = place();
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_end()) {
        fail<TokenizerError>(name_, at_byte(start), "the end of the file or message",
                             "a whole number");
      }
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail<TokenizerError>(name_, at_byte(start), "a number of more than 10 bytes", "at most 10");
  }

  void take(Field& field, std::uint64_t size) {
    const std::size_t left = bytes_.size() - at_;
    if (size > left) {
      fail<TokenizerError>(
          name_, at_byte(field.start),
          fmt::format("a field of {} where {} are left", count_of_bytes(size), left),
          "all of the field");
    }
    field.content_start = place();
    field.content = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
  }

  std::span<const std::byte> bytes_;
  std::uint64_t start_;
  const std::string& name_;
  std::size_t at_ = 0;
};

void check_piece(const Field& piece, std::size_t number, const std::string& name) {
  MessageReader reader(piece.content, piece.content_start, name);
  while (!reader.at_end()) {
    const Field field = reader.next();
    if (field.number != kScore || field.wire != Wire::four_bytes) continue;
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      word |= std::to_integer<std::uint32_t>(field.content[i]) << (8 * i);
    }
    const auto score = std::bit_cast<float>(word);
    if (!std::isfinite(score)) {
      fail<TokenizerError>(name, at_byte(field.start),
                           fmt::format("the score {} of piece {}", score, number),
                           "a finite number");
    }
  }
}

void check_normalizer(const Field& rules, const std::string& name) {
  MessageReader reader(rules.content, rules.content_start, name);
  while (!reader.at_end()) {
    const Field field = reader.next();
    if (field.number == kCharacterMap && !field.content.empty()) {
      fail<TokenizerError>(
          name, at_byte(field.start),
          fmt::format("rules of normalisation of {}", count_of_bytes(field.content.size())),
          "none, as in the tokenizers of Llama");
    }
  }
}

}  // namespace

std::size_t check_model_proto(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.empty() || bytes.size() > kLargestFile) {
    fail<TokenizerError>(name, "", fmt::format("a file of {} bytes", bytes.size()),
                         fmt::format("a model of SentencePiece, of at most {}", kLargestFile));
  }
  std::size_t pieces = 0;
  MessageReader reader(bytes, 0, name);
  while (!reader.at_end()) {
    const Field field = reader.next();
    if (field.number != kPieces && field.number != kNormalizer && field.number != kDenormalizer) {
      continue;
    }
    if (field.wire != Wire::bytes) {
      fail<TokenizerError>(
          name, at_byte(field.start),
          fmt::format("field {} of kind {}", field.number, static_cast<int>(field.wire)),
          "a message, as in a model of SentencePiece");
    }
    if (field.number == kPieces) {
      check_piece(field, pieces, name);
      ++pieces;
    } else {
      check_normalizer(field, name);
    }
  }
  return pieces;
}

}  // namespace tandem::text
