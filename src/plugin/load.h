// SPDX-License-Identifier: MIT
// Loads plug-ins.
#pragma once

#include <stdexcept>

#include "plugin/plugin.h"

namespace tandem::plugin {

/// A plug-in is not there, cannot be loaded, or is of another build than the program.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The plug-in with LibTorch, where find_library() finds it. Stays loaded; its threads are those of
/// default_executor(). Throws PluginError.
const Plugin& load_torch();

}  // namespace tandem::plugin
