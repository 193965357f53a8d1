// SPDX-License-Identifier: MIT
// For tests: files of tensors made by hand, a folder for them, and the check of a message.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/safetensors.h"
#include "tests/temp_folder.h"

namespace tandem::tensors {

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

/// A file with this header, as it is, and these data.
inline std::string file_of(const std::string& header, const std::string& data = "") {
  return little_endian(header.size()) + header + data;
}

inline Safetensors parse(const std::string& file) {
  return parse_safetensors(as_bytes(file), "a.safetensors");
}

/// Runs `work`, which must throw a TensorFileError whose message has all of these parts.
template <class Work>
void expect_refused(Work work, const std::vector<std::string>& parts) {
  try {
    work();
    ADD_FAILURE() << "no error, expected one with " << ::testing::PrintToString(parts);
  } catch (const TensorFileError& error) {
    const std::string message = error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' not in: " << message;
    }
  }
}

class TensorFileTest : public ::testing::Test {
 protected:
  std::string written() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
  std::filesystem::path path_ = folder_ / "a.safetensors";
};

}  // namespace tandem::tensors
