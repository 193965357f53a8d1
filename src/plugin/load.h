// SPDX-License-Identifier: MIT
// Finds and loads plug-ins.
#pragma once

#include <stdexcept>
#include <string>

#include "plugin/plugin.h"

namespace tandem::plugin {

/// A plug-in is not there, cannot be loaded, or is of another build than the program.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The plug-in "torch". It is looked for in the folder that TANDEM_PLUGIN_DIR names; without that
/// variable beside the program (a build tree), then in lib/tandem of the install. Stays loaded.
/// Throws PluginError.
const Plugin& load(const std::string& name);

}  // namespace tandem::plugin
