// SPDX-License-Identifier: MIT
// What the tests of this module share: reading files, and the check of a message.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/dataset.h"
#include "data/sample_files.h"

namespace tandem::data {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs `work`, which must throw an Error whose message has all of these parts.
template <class Error, class Work>
void expect_error(Work work, const std::vector<std::string>& parts) {
  try {
    work();
    ADD_FAILURE() << "no error, expected one with " << ::testing::PrintToString(parts);
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' not in: " << message;
    }
  }
}

template <class Work>
void expect_damage(Work work, const std::vector<std::string>& parts) {
  expect_error<DataError>(work, parts);
}

}  // namespace tandem::data
