// SPDX-License-Identifier: MIT
#include "tensors/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tensors/fail.h"
#include "tensors/safetensors_header.h"

namespace tandem::tensors {
namespace {

struct TypeFacts {
  std::string_view name;
  std::size_t size;
};

// In the order of Type.
constexpr std::array<TypeFacts, 10> kTypes{{{"F64", 8},
                                            {"F32", 4},
                                            {"F16", 2},
                                            {"BF16", 2},
                                            {"I64", 8},
                                            {"I32", 4},
                                            {"I16", 2},
                                            {"I8", 1},
                                            {"U8", 1},
                                            {"BOOL", 1}}};

const TypeFacts& facts(Type type) { return kTypes.at(static_cast<std::size_t>(type)); }

std::string_view header_of(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < kHeaderStart) {
    fail<TensorFileError>(where, at_byte(0), "a file of " + count_of_bytes(bytes.size()),
                          "8 bytes with the length of the header");
  }
  std::uint64_t length = 0;
  for (std::size_t i = kHeaderStart; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  const std::uint64_t most = std::min<std::uint64_t>(kLongestHeader, bytes.size() - kHeaderStart);
  if (length > most) {
    fail<TensorFileError>(
        where, at_byte(0), "a header of " + count_of_bytes(length),
        fmt::format("at most {}: {}", most,
                    most == kLongestHeader ? "the format's limit" : "the rest of the file"));
  }
  return {reinterpret_cast<const char*>(bytes.data()) + kHeaderStart, length};
}

std::string offsets_text(const HeaderEntry& entry) {
  return fmt::format("data_offsets [{}, {}]", entry.begin, entry.end);
}

/// What one entry says, by itself.
void check_entry(const HeaderEntry& entry, std::uint64_t data_size, const std::string& where) {
  const std::string place = at_tensor(entry.name);
  if (entry.begin > entry.end || entry.end > data_size) {
    fail<TensorFileError>(where, place, offsets_text(entry),
                          fmt::format("a beginning and an end in the {} bytes of data", data_size));
  }
  const std::optional<std::uint64_t> size = byte_size(entry.type, entry.shape);
  if (!size) {
    fail<TensorFileError>(where, place, "the shape " + shown(entry.shape), "fewer than 2^64 bytes");
  }
  if (*size != entry.end - entry.begin) {
    fail<TensorFileError>(
        where, place,
        fmt::format("{}: {}", offsets_text(entry), count_of_bytes(entry.end - entry.begin)),
        fmt::format("{} for {} of shape {}", count_of_bytes(*size), type_name(entry.type),
                    shown(entry.shape)));
  }
}

/// That each begins where the one before ends; they are in order.
void check_tiling(std::span<const HeaderEntry> entries, std::span<const std::byte> data,
                  std::uint64_t data_start, const std::string& where) {
  std::uint64_t end = 0;
  const HeaderEntry* last = nullptr;
  const auto before = [&] { return last == nullptr ? "the header" : at_tensor(last->name); };
  for (const HeaderEntry& entry : entries) {
    if (entry.begin != end) {
      fail<TensorFileError>(where, at_tensor(entry.name),
                            fmt::format("{}, {}", offsets_text(entry),
                                        entry.begin < end ? "an overlap" : "after a hole"),
                            fmt::format("a beginning at {}, where {} ends", end, before()));
    }
    end = entry.end;
    last = &entry;
  }
  if (end != data.size()) {
    fail<TensorFileError>(where, at_byte(data_start + end),
                          count_of_bytes(data.size() - end) + " of no tensor",
                          fmt::format("the end of the file after {}", before()));
  }
}

}  // namespace

std::string_view type_name(Type type) { return facts(type).name; }

std::optional<Type> type_of_name(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<Type>(i);
  }
  return {};
}

std::size_t type_size(Type type) { return facts(type).size; }

std::optional<std::uint64_t> byte_size(Type type, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = type_size(type);
  bool empty = false;
  for (const std::uint64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return {};
    }
  }
  return empty ? 0 : bytes;
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view text = header_of(bytes, where);
  const std::size_t data_start = kHeaderStart + text.size();
  const std::span<const std::byte> data = bytes.subspan(data_start);
  Header header = read_header(text, where);
  for (const HeaderEntry& entry : header.entries) check_entry(entry, data.size(), where);
  // An empty tensor comes before the one that begins at the same byte.
  std::ranges::stable_sort(header.entries, {}, [](const HeaderEntry& entry) {
    return std::pair(entry.begin, entry.end);
  });
  check_tiling(header.entries, data, data_start, where);

  Safetensors result{.tensors = {}, .metadata = std::move(header.metadata)};
  result.tensors.reserve(header.entries.size());
  for (HeaderEntry& entry : header.entries) {
    result.tensors.push_back({.name = std::move(entry.name),
                              .type = entry.type,
                              .shape = std::move(entry.shape),
                              .bytes = data.subspan(entry.begin, entry.end - entry.begin)});
  }
  return result;
}

}  // namespace tandem::tensors
