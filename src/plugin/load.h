// SPDX-License-Identifier: MIT
// Finds and loads plug-ins.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "plugin/plugin.h"

namespace tandem::plugin {

/// A plug-in is not there, cannot be loaded, or is of another build than the program.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A library that is loaded when it is needed. It is looked for in the folder that
/// TANDEM_PLUGIN_DIR names; without that variable beside the program (a build tree), then in
/// lib/tandem of the install. Throws PluginError, which says why it may be missing.
std::filesystem::path find_library(const std::string& file, const std::string& why);

/// The plug-in with LibTorch. Stays loaded; its threads are those of default_executor().
const Plugin& load_torch();

}  // namespace tandem::plugin
