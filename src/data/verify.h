// SPDX-License-Identifier: MIT
// Checks the files of a data set against the digests in the table of recipes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/recipe.h"

namespace tandem::data {

struct FileCheck {
  enum class State { good, unknown, different, damaged, missing };
  std::string name;            // as published
  std::filesystem::path path;  // empty when missing
  State state = State::missing;
  std::string detail = {};  // digests, or what is damaged
  bool needed = true;       // a missing one makes the data set incomplete
};

/// good: its digest is the publisher's; unknown: readable, and no digest to compare with;
/// different: readable, another digest; damaged: cannot be read to the end.
const char* state_name(FileCheck::State state);

/// Of every file that is there or should be.
std::vector<FileCheck> verify(const Recipe& recipe,
                              const std::vector<std::filesystem::path>& search);

/// Of one file. Reads all of it, also what is compressed.
FileCheck check_file(const FileInfo& info, const std::filesystem::path& path);

}  // namespace tandem::data
