// SPDX-License-Identifier: MIT
#include "base/state_stream.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <tandem/errors.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <istream>
#include <ostream>
#include <stdexcept>

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little, "the state format is little-endian");

constexpr std::string_view kMagic = "TANDEM-S";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // hashed while it is in the cache

// Kinds of records.
constexpr char kCount = 'c';
constexpr char kNumber = 'n';
constexpr char kText = 't';
constexpr char kFloats = 'f';
constexpr char kDoubles = 'd';

std::string kind_name(char kind) {
  switch (kind) {
    case kCount:
      return "count";
    case kNumber:
      return "number";
    case kText:
      return "text";
    case kFloats:
      return "float array";
    case kDoubles:
      return "double array";
    default:
      return fmt::format("unknown kind {:#04x}", static_cast<unsigned char>(kind));
  }
}

}  // namespace

struct StateWriter::Hash {
  XXH3_state_t state;
};
struct StateReader::Hash {
  XXH3_state_t state;
};

StateWriter::StateWriter(std::ostream& stream) : stream_(stream), hash_(std::make_unique<Hash>()) {
  XXH3_64bits_reset(&hash_->state);
  bytes(kMagic.data(), kMagic.size());
  bytes(&kVersion, sizeof kVersion);
}
StateWriter::~StateWriter() = default;

void StateWriter::bytes(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const std::size_t piece = std::min(size, kPiece);
    XXH3_64bits_update(&hash_->state, next, piece);
    stream_.write(next, static_cast<std::streamsize>(piece));
    next += piece;
    size -= piece;
  }
}

void StateWriter::header(char kind, std::string_view name) {
  const auto length = static_cast<unsigned char>(name.size());
  bytes(&kind, 1);
  bytes(&length, 1);
  bytes(name.data(), name.size());
}

void StateWriter::count(std::string_view name, std::uint64_t value) {
  header(kCount, name);
  bytes(&value, sizeof value);
}

void StateWriter::number(std::string_view name, double value) {
  header(kNumber, name);
  bytes(&value, sizeof value);
}

void StateWriter::text(std::string_view name, std::string_view value) {
  header(kText, name);
  const std::uint64_t length = value.size();
  bytes(&length, sizeof length);
  bytes(value.data(), value.size());
}

void StateWriter::array(std::string_view name, std::span<const float> values) {
  header(kFloats, name);
  const std::uint64_t length = values.size();
  bytes(&length, sizeof length);
  bytes(values.data(), values.size_bytes());
}

void StateWriter::array(std::string_view name, std::span<const double> values) {
  header(kDoubles, name);
  const std::uint64_t length = values.size();
  bytes(&length, sizeof length);
  bytes(values.data(), values.size_bytes());
}

void StateWriter::finish() {
  const std::uint64_t checksum = XXH3_64bits_digest(&hash_->state);
  stream_.write(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  stream_.flush();
  if (!stream_) throw std::runtime_error("Cannot save the state: the stream did not take it");
}

StateReader::StateReader(std::istream& stream) : stream_(stream), hash_(std::make_unique<Hash>()) {
  XXH3_64bits_reset(&hash_->state);
  std::array<char, kMagic.size()> magic{};
  bytes(magic.data(), magic.size());
  if (std::string_view(magic.data(), magic.size()) != kMagic) {
    throw StateError(
        fmt::format("Not a Tandem state: it does not start with the word '{}'", kMagic));
  }
  std::uint32_t version = 0;
  bytes(&version, sizeof version);
  if (version != kVersion) {
    throw StateError(
        fmt::format("Invalid state: its format has version {}, this program reads version {}",
                    version, kVersion));
  }
}
StateReader::~StateReader() = default;

void StateReader::bytes(void* data, std::size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const std::size_t piece = std::min(size, kPiece);
    stream_.read(next, static_cast<std::streamsize>(piece));
    if (static_cast<std::size_t>(stream_.gcount()) != piece) {
      throw StateError(fmt::format("Invalid state: it ends {} bytes too early or cannot be read on",
                                   size - static_cast<std::size_t>(stream_.gcount())));
    }
    XXH3_64bits_update(&hash_->state, next, piece);
    next += piece;
    size -= piece;
  }
}

void StateReader::header(char kind, std::string_view name) {
  char found_kind = 0;
  unsigned char length = 0;
  bytes(&found_kind, 1);
  bytes(&length, 1);
  std::string found(length, '\0');
  bytes(found.data(), found.size());
  if (found_kind != kind || found != name) {
    throw StateError(fmt::format("Invalid state: expected {} '{}', found {} '{}'", kind_name(kind),
                                 name, kind_name(found_kind), found));
  }
}

std::uint64_t StateReader::count(std::string_view name) {
  header(kCount, name);
  std::uint64_t value = 0;
  bytes(&value, sizeof value);
  return value;
}

std::uint64_t StateReader::count(std::string_view name, std::uint64_t most) {
  const std::uint64_t value = count(name);
  if (value > most) {
    throw StateError(
        fmt::format("Invalid state: '{}' is {}, expected at most {}", name, value, most));
  }
  return value;
}

double StateReader::number(std::string_view name) {
  header(kNumber, name);
  double value = 0;
  bytes(&value, sizeof value);
  return value;
}

std::string StateReader::text(std::string_view name) {
  header(kText, name);
  std::uint64_t length = 0;
  bytes(&length, sizeof length);
  if (length > kLongestText) {
    throw StateError(
        fmt::format("Invalid state: text '{}' claims {} characters, expected at most {}", name,
                    length, kLongestText));
  }
  std::string value(length, '\0');
  bytes(value.data(), value.size());
  return value;
}

template <class T>
void StateReader::array_of(char kind, std::string_view name, std::span<T> values) {
  header(kind, name);
  std::uint64_t length = 0;
  bytes(&length, sizeof length);
  if (length != values.size()) {
    throw StateError(fmt::format("Invalid state: array '{}' has {} values, expected {}", name,
                                 length, values.size()));
  }
  bytes(values.data(), values.size_bytes());
}

void StateReader::array(std::string_view name, std::span<float> values) {
  array_of(kFloats, name, values);
}
void StateReader::array(std::string_view name, std::span<double> values) {
  array_of(kDoubles, name, values);
}

void StateReader::finish() {
  const std::uint64_t expected = XXH3_64bits_digest(&hash_->state);
  std::uint64_t found = 0;
  stream_.read(reinterpret_cast<char*>(&found), sizeof found);
  if (stream_.gcount() != sizeof found) {
    throw StateError("Invalid state: it ends before its checksum");
  }
  if (found != expected) {
    throw StateError(fmt::format(
        "Damaged state: its checksum is {:016x}, its content gives {:016x}", found, expected));
  }
}

}  // namespace tandem
