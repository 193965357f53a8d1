// SPDX-License-Identifier: MIT
#include "data/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/digest.h"
#include "data/locate.h"

namespace tandem::data {

const char* state_name(FileCheck::State state) {
  switch (state) {
    case FileCheck::State::good:
      return "good";
    case FileCheck::State::unknown:
      return "unknown";
    case FileCheck::State::different:
      return "different";
    case FileCheck::State::damaged:
      return "damaged";
    case FileCheck::State::missing:
      return "missing";
  }
  return "";
}

FileCheck check_file(const FileInfo& info, const std::filesystem::path& path) {
  FileCheck check{.name = info.name, .path = path};
  try {
    // The content even where the file's own digest is known: it tells damage from another packing.
    const std::string content = digest_of(open_source(path), Digest::Kind::md5);
    std::string found = content;
    std::string expected = info.content;
    bool good = !expected.empty() && content == expected;
    if (!good && !info.packed.empty()) {
      const std::string packed = digest_of(open_raw(path), Digest::kind_of(info.packed));
      good = packed == info.packed;
      if (good || expected.empty()) {
        found = packed;
        expected = info.packed;
      }
    }
    if (good) {
      check.state = FileCheck::State::good;
      check.detail = found;
    } else if (expected.empty()) {
      check.state = FileCheck::State::unknown;
      check.detail = fmt::format("content {}, nothing to compare with", content);
    } else {
      check.state = FileCheck::State::different;
      check.detail = fmt::format("found {}, expected {}", found, expected);
    }
  } catch (const DataError& error) {
    check.state = FileCheck::State::damaged;
    check.detail = error.what();
  }
  return check;
}

std::vector<FileCheck> verify(const Recipe& recipe,
                              const std::vector<std::filesystem::path>& search) {
  const Locator locator(recipe, search);
  std::vector<FileCheck> checks;
  bool any_unpacked = false;
  for (const FileInfo& file : recipe.unpacked) {
    if (const auto path = locator.find(file.name)) {
      checks.push_back(check_file(file, *path));
      any_unpacked = true;
    }
  }
  for (const FileInfo& file : recipe.files) {
    if (const auto path = locator.find(file.name)) {
      checks.push_back(check_file(file, *path));
    } else {
      checks.push_back({.name = file.name,
                        .path = {},
                        .state = FileCheck::State::missing,
                        .detail = "",
                        .needed = !file.optional && !any_unpacked});
    }
  }
  return checks;
}

}  // namespace tandem::data
