// SPDX-License-Identifier: MIT
// Files that are there whole or not at all: written to a temporary name, then renamed.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>

namespace tandem {

/// Calls `write` with a stream; the file appears when it returns. Throws std::runtime_error naming
/// the file where that fails, and leaves no temporary file behind.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(std::ostream&)>& write);

}  // namespace tandem
