// SPDX-License-Identifier: MIT
// Where tests find the real data sets: TANDEM_TEST_DATA, or ../shared/data beside the source tree.
// They are never part of it; a test that misses them skips and says so.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace tandem::tests {

inline const std::filesystem::path kSystemDatasets = "/usr/share/datasets";

/// Empty where there is none.
inline std::filesystem::path real_data_folder() {
  const char* variable = std::getenv("TANDEM_TEST_DATA");
  const std::filesystem::path folder =
      variable != nullptr
          ? std::filesystem::path(variable)
          : std::filesystem::path(TANDEM_SOURCE_DIR).parent_path() / "shared" / "data";
  return std::filesystem::is_directory(folder) ? folder : std::filesystem::path();
}

inline std::vector<std::filesystem::path> real_data_search() {
  return {real_data_folder(), kSystemDatasets};
}

inline const std::string kNoRealData =
    "no real data: neither TANDEM_TEST_DATA nor ../shared/data beside the source tree has it";

}  // namespace tandem::tests
