// SPDX-License-Identifier: MIT
// For tests: reads event files by the formats' descriptions alone, with none of the writer's code.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::exporting::tests {

/// A bit at a time, by the reflected polynomial.
inline std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0);
  }
  return ~crc;
}

template <typename T>
T take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) throw std::runtime_error("cut off");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));  // tests run on little-endian machines
  bytes.remove_prefix(sizeof(T));
  return value;
}

inline void check(std::string_view bytes, std::uint32_t stored) {
  const std::uint32_t rotated = stored - 0xA282EAD8U;
  if (((rotated >> 17U) | (rotated << 15U)) != slow_crc32c(bytes)) {
    throw std::runtime_error("wrong checksum");
  }
}

/// The data of all records; throws where one is cut off or has a wrong checksum.
inline std::vector<std::string> records(std::string_view file) {
  std::vector<std::string> result;
  while (!file.empty()) {
    const std::string_view head = file.substr(0, 8);
    const auto length = take<std::uint64_t>(file);
    check(head, take<std::uint32_t>(file));
    if (file.size() < length) throw std::runtime_error("cut off");
    result.emplace_back(file.substr(0, length));
    file.remove_prefix(length);
    check(result.back(), take<std::uint32_t>(file));
  }
  return result;
}

/// A message: the values of each field in order, numbers as their bits.
struct Fields {
  std::map<std::uint32_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint32_t, std::vector<std::string>> texts;

  explicit Fields(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::uint64_t key = varint(bytes);
      const auto field = static_cast<std::uint32_t>(key >> 3U);
      if ((key & 7U) == 0) {
        numbers[field].push_back(varint(bytes));
      } else if ((key & 7U) == 1) {
        numbers[field].push_back(take<std::uint64_t>(bytes));
      } else if ((key & 7U) == 5) {
        numbers[field].push_back(take<std::uint32_t>(bytes));
      } else if ((key & 7U) == 2) {
        const std::uint64_t length = varint(bytes);
        if (length > bytes.size()) throw std::runtime_error("cut off");
        texts[field].emplace_back(bytes.substr(0, length));
        bytes.remove_prefix(length);
      } else {
        throw std::runtime_error("unknown type of field");
      }
    }
  }

  Fields inside(std::uint32_t field, std::size_t place = 0) const {
    return Fields(texts.at(field).at(place));
  }
  double real(std::uint32_t field) const {
    double value = 0;
    std::memcpy(&value, &numbers.at(field).at(0), sizeof value);
    return value;
  }
  float real32(std::uint32_t field) const {
    const auto bits = static_cast<std::uint32_t>(numbers.at(field).at(0));
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (shift > 63) throw std::runtime_error("varint without an end");
      const auto byte = take<unsigned char>(bytes);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
  }
};

}  // namespace tandem::exporting::tests
