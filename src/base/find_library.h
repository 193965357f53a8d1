// SPDX-License-Identifier: MIT
// Finds the libraries of ours that a program loads when they are needed.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace tandem {

/// Says where the library was looked for, and why it may be missing.
class LibraryNotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The file is looked for in the folder that TANDEM_PLUGIN_DIR names; without that variable beside
/// the program (a build tree), then in lib/tandem of the install. Throws LibraryNotFound; `why` is
/// the end of its message.
std::filesystem::path find_library(const std::string& file, const std::string& why);

}  // namespace tandem
