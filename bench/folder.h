// SPDX-License-Identifier: MIT
// A folder for what a benchmark writes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tandem::bench {

/// Among temporary files; goes with its owner.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tandem-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make the folder " + name);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file() const { return path_ / "bench.db"; }

 private:
  std::filesystem::path path_;
};

}  // namespace tandem::bench
