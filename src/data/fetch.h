// SPDX-License-Identifier: MIT
// Downloads the files of a data set: to NAME.part first, which a later run goes on with, and under
// their own names only after size and digest were right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/recipe.h"

namespace tandem::data {

struct FetchProgress {
  std::string file;
  std::uint64_t received = 0;  // with what an earlier run had
  std::uint64_t total = 0;     // 0: not known
  bool done = false;
};

struct FetchOptions {
  std::filesystem::path folder;  // where the files go
  /// A http or https address of a folder with files of the published names; empty: the publishers'
  /// own addresses.
  std::string mirror;
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of one file; more are refused
  std::function<void(const FetchProgress&)> progress;
};

/// The paths of all files, of which those that are there and good already were left alone. Throws
/// DataError, with the names of the files and where to put them when there is no way to download
/// them.
std::vector<std::filesystem::path> fetch(const Recipe& recipe, const FetchOptions& options);

}  // namespace tandem::data
