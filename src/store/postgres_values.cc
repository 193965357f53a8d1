// SPDX-License-Identifier: MIT
#include "store/postgres_values.h"

#include <bit>
#include <type_traits>

#include "base/utf8.h"

namespace tandem::store {
namespace {

constexpr char32_t kFirstNoncharacter = 0xFDD0;
constexpr char32_t kNoncharacters = 32;
constexpr unsigned kHalves = 16;

bool is_noncharacter(char32_t code) {
  return code >= kFirstNoncharacter && code < kFirstNoncharacter + kNoncharacters;
}

/// In UTF-8: three bytes, for they all are in one range.
void append_noncharacter(std::string& text, unsigned number) {
  const char32_t code = kFirstNoncharacter + number;
  text += static_cast<char>(0xE0U | (code >> 12U));
  text += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
  text += static_cast<char>(0x80U | (code & 0x3FU));
}

void append_escaped(std::string& text, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    append_noncharacter(text, byte / kHalves);
    append_noncharacter(text, kHalves + byte % kHalves);
  }
}

template <typename Integer>
void append_big_endian(std::string& bytes, Integer value) {
  for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8) {
    bytes += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU);
  }
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = (value << 8U) | static_cast<unsigned char>(c);
  return value;
}

constexpr Libpq::Oid kInt8Array = 1016, kFloat8Array = 1022, kTextArray = 1009;

}  // namespace

std::string to_postgres(const std::string& text) {
  std::string held;
  held.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = first_character(rest);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const std::string_view piece = rest.substr(0, bytes);
    if (character.bytes == 0 || character.code == 0 || is_noncharacter(character.code)) {
      append_escaped(held, piece);
    } else {
      held += piece;
    }
    rest.remove_prefix(bytes);
  }
  return held;
}

std::string from_postgres(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    // All of them begin with this byte.
    if (text[0] != '\xEF') {
      plain += text[0];
      text.remove_prefix(1);
      continue;
    }
    const Character high = first_character(text);
    const Character low =
        high.bytes == 3 && text.size() > 3 ? first_character(text.substr(3)) : Character{};
    if (is_noncharacter(high.code) && is_noncharacter(low.code)) {
      const unsigned byte =
          (high.code - kFirstNoncharacter) * kHalves + (low.code - kFirstNoncharacter - kHalves);
      plain += static_cast<char>(byte);
      text.remove_prefix(6);
    } else {
      plain += text[0];
      text.remove_prefix(1);
    }
  }
  return plain;
}

Encoded encode(const Value& value) {
  Encoded encoded;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    encoded.type = kInt8;
    append_big_endian(encoded.bytes, static_cast<std::uint64_t>(*integer));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    encoded.type = kText;
    encoded.bytes = to_postgres(*text);
  } else {
    const auto& number = std::get<std::optional<double>>(value);
    encoded.type = kFloat8;
    encoded.null = !number.has_value();
    if (number) append_big_endian(encoded.bytes, std::bit_cast<std::uint64_t>(*number));
  }
  return encoded;
}

Encoded encode_column(const Rows& rows, std::size_t column) {
  const Libpq::Oid element = encode(rows.at(0, column)).type;
  Encoded array;
  array.type = element == kInt8 ? kInt8Array : element == kText ? kTextArray : kFloat8Array;
  const auto append = [&](std::uint32_t number) { append_big_endian(array.bytes, number); };
  append(1);  // dimension
  append(1);  // there may be NULLs
  append(element);
  append(static_cast<std::uint32_t>(rows.size()));
  append(1);  // the first index
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Encoded one = encode(rows.at(row, column));
    append(one.null ? ~std::uint32_t{0} : static_cast<std::uint32_t>(one.bytes.size()));
    array.bytes += one.bytes;
  }
  return array;
}

const char* array_type(const Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) return "bigint[]";
  return std::holds_alternative<std::string>(value) ? "text[]" : "float8[]";
}

std::int64_t decode_integer(Libpq::Oid type, std::string_view bytes) {
  const std::uint64_t value = big_endian(bytes);
  switch (type) {
    case kInt4:
      return static_cast<std::int32_t>(value);
    case kInt2:
      return static_cast<std::int16_t>(value);
    case kFloat8:
      return static_cast<std::int64_t>(std::bit_cast<double>(value));
    default:
      return static_cast<std::int64_t>(value);
  }
}

double decode_number(Libpq::Oid type, std::string_view bytes) {
  if (type == kFloat8) return std::bit_cast<double>(big_endian(bytes));
  return static_cast<double>(decode_integer(type, bytes));
}

}  // namespace tandem::store
