// SPDX-License-Identifier: MIT
#include "base/find_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <system_error>
#include <vector>

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  const char* given = std::getenv("TANDEM_PLUGIN_DIR");
  if (given != nullptr && *given != '\0') return {fs::absolute(given)};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {program, (program / TANDEM_PLUGIN_FOLDER).lexically_normal()};
}

}  // namespace

fs::path find_library(const std::string& file, const std::string& why) {
  std::vector<std::string> searched;
  for (const fs::path& folder : folders()) {
    std::error_code error;
    if (fs::is_regular_file(folder / file, error)) return folder / file;
    searched.push_back(folder.string());
  }
  throw LibraryNotFound(
      fmt::format("Found no {} in {}: {}", file, fmt::join(searched, " or "), why));
}

}  // namespace tandem
