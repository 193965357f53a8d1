// SPDX-License-Identifier: MIT
// Finds the files of a data set: in each folder of the search, first below the data set's own
// folder name, then flat; plain, .gz or .xz.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/recipe.h"

namespace tandem::data {

class Locator {
 public:
  Locator(const Recipe& recipe, const std::vector<std::filesystem::path>& search);

  /// A file by its name, published (with .gz) or plain.
  std::optional<std::filesystem::path> find(const std::string& name) const;
  std::optional<std::filesystem::path> find_folder(const std::string& name) const;
  /// The file, or DataError with the folders that were searched and how to get it.
  std::filesystem::path require(const std::string& name) const;
  /// Throws DataError about what is missing: which files, where to put them, where they come from.
  [[noreturn]] void fail_missing(const std::string& what) const;

 private:
  const Recipe& recipe_;
  std::vector<std::filesystem::path> roots_;
  std::vector<std::filesystem::path> folders_;
};

/// Without .gz or .xz.
std::string plain_name(const std::string& name);

/// `path` itself, or with .gz or .xz behind it, if there is such a file.
std::optional<std::filesystem::path> find_packed(const std::filesystem::path& path);

/// How to come by the files of a data set: their names, their page, `tandem data fetch`.
std::string how_to_get(const Recipe& recipe, const std::filesystem::path& folder);

}  // namespace tandem::data
