// SPDX-License-Identifier: MIT
// For tests: a folder that goes with the test, files of tensors made by hand, and the check of a
// message.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tensors/safetensors.h"

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
  TensorFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tandem-tensors-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "a.safetensors";
  }
  ~TensorFileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string written() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace tandem::tensors
