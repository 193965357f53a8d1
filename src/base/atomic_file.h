// SPDX-License-Identifier: MIT
// Files that are there whole or not at all: written under a temporary name, brought to the disk,
// then renamed. That holds after a crash of the program and, where the file system keeps what fsync
// promises, after a power cut: the file is the old one or the new one.
//
// What the path names:
// - nothing yet: a new file, with the rights that the umask leaves.
// - a regular file: replaced. Its mode stays, and its owner and group as far as the system allows;
//   access lists are not kept, and other hard links keep the old contents.
// - a symbolic link: stays, and what it points to is written; that is made if it is not there.
// - anything else (a device, a FIFO, /dev/stdout, /dev/fd/N): written straight through. There is
//   nothing to rename, so a failure leaves what was written before it.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>

namespace tandem {

/// Calls `write` with a stream; the file appears when it returns. Throws std::runtime_error naming
/// the file and the system's reason where that fails, and leaves no temporary file behind. Those of
/// a program that was killed are named .tandem-part-*, in the file's folder.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(std::ostream&)>& write);

}  // namespace tandem
