// SPDX-License-Identifier: MIT
#include "base/state_stream.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <tandem/errors.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <istream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

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
constexpr char kHalves = 'h';  // bfloat16

template <class T>
constexpr char array_kind() {
  if constexpr (std::is_same_v<T, BFloat16>) return kHalves;
  return std::is_same_v<T, float> ? kFloats : kDoubles;
}

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
    case kHalves:
      return "bfloat16 array";
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

namespace {

template <class T>
std::uint64_t total_of(std::span<const std::span<T>> parts) {
  std::uint64_t total = 0;
  for (const std::span<T> part : parts) total += part.size();
  return total;
}

}  // namespace

template <class T>
void StateWriter::array_in_parts(std::string_view name, std::span<const std::span<const T>> parts) {
  header(array_kind<T>(), name);
  const std::uint64_t length = total_of(parts);
  bytes(&length, sizeof length);
  for (const std::span<const T> part : parts) bytes(part.data(), part.size_bytes());
}
template void StateWriter::array_in_parts(std::string_view,
                                          std::span<const std::span<const float>>);
template void StateWriter::array_in_parts(std::string_view,
                                          std::span<const std::span<const double>>);
template void StateWriter::array_in_parts(std::string_view,
                                          std::span<const std::span<const BFloat16>>);

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
void StateReader::array_in_parts(std::string_view name, std::span<const std::span<T>> parts) {
  header(array_kind<T>(), name);
  std::uint64_t length = 0;
  bytes(&length, sizeof length);
  if (const std::uint64_t expected = total_of(parts); length != expected) {
    throw StateError(fmt::format("Invalid state: array '{}' has {} values, expected {}", name,
                                 length, expected));
  }
  for (const std::span<T> part : parts) bytes(part.data(), part.size_bytes());
}
template void StateReader::array_in_parts(std::string_view, std::span<const std::span<float>>);
template void StateReader::array_in_parts(std::string_view, std::span<const std::span<double>>);
template void StateReader::array_in_parts(std::string_view, std::span<const std::span<BFloat16>>);

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

namespace {

/// Reads values off the front of what is left.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : left_(bytes) {}

  bool done() const { return left_.empty(); }
  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) {
      throw StateError(
          fmt::format("Invalid state: a record of {} bytes where {} are left", size, left_.size()));
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  template <class T>
  T value() {
    T value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> array() {
    const auto length = value<std::uint64_t>();
    if (length > left_.size() / sizeof(T)) {
      throw StateError(fmt::format("Invalid state: an array of {} values where {} bytes are left",
                                   length, left_.size()));
    }
    std::vector<T> values(length);
    const std::string_view bytes = take(length * sizeof(T));
    if (length > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::string_view left_;
};

}  // namespace

std::vector<StateRecord> state_records(std::string_view bytes) {
  constexpr std::size_t kHead = kMagic.size() + sizeof kVersion;
  if (bytes.size() < kHead + sizeof(std::uint64_t)) {
    throw StateError("Invalid state: it is shorter than an empty one");
  }
  const std::string_view content = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  Cursor head(content);
  if (head.take(kMagic.size()) != kMagic || head.value<std::uint32_t>() != kVersion) {
    throw StateError(fmt::format("Not a Tandem state of version {}", kVersion));
  }
  Cursor tail(bytes.substr(content.size()));
  if (tail.value<std::uint64_t>() != XXH3_64bits(content.data(), content.size())) {
    throw StateError("Damaged state: its checksum does not fit its content");
  }
  std::vector<StateRecord> records;
  Cursor cursor(content.substr(kHead));
  while (!cursor.done()) {
    const char kind = cursor.value<char>();
    StateRecord record;
    record.name = cursor.take(cursor.value<unsigned char>());
    switch (kind) {
      case kCount:
        record.value = cursor.value<std::uint64_t>();
        break;
      case kNumber:
        record.value = cursor.value<double>();
        break;
      case kText:
        record.value = std::string(cursor.take(cursor.value<std::uint64_t>()));
        break;
      case kFloats:
        record.value = cursor.array<float>();
        break;
      case kDoubles:
        record.value = cursor.array<double>();
        break;
      case kHalves:
        record.value = cursor.array<BFloat16>();
        break;
      default:
        throw StateError(
            fmt::format("Invalid state: record '{}' is of {}", record.name, kind_name(kind)));
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::string state_of_records(std::span<const StateRecord> records) {
  std::ostringstream stream;
  StateWriter writer(stream);
  for (const StateRecord& record : records) {
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::uint64_t>) {
            writer.count(record.name, value);
          } else if constexpr (std::is_same_v<Value, double>) {
            writer.number(record.name, value);
          } else if constexpr (std::is_same_v<Value, std::string>) {
            writer.text(record.name, value);
          } else {
            writer.array(record.name, std::span(value));
          }
        },
        record.value);
  }
  writer.finish();
  return std::move(stream).str();
}

}  // namespace tandem
