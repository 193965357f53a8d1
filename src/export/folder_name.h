// SPDX-License-Identifier: MIT
// Names of studies, tasks and optimizers as names of folders.
#pragma once

#include <string>
#include <string_view>

namespace tandem::exporting {

/// One part of a path, of at most 120 bytes, that leads nowhere else. A name that cannot stand as it
/// is gets '~' and a hash of it, so that two names never share a folder.
std::string folder_name(std::string_view name);

}  // namespace tandem::exporting
