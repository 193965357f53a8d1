// SPDX-License-Identifier: MIT
#include "base/atomic_file.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tandem {

void write_atomically(const std::filesystem::path& path,
                      const std::function<void(std::ostream&)>& write) {
  std::filesystem::path temporary = path;
  temporary += ".part-" + std::to_string(getpid());
  const auto fail = [&](const std::string& why) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return std::runtime_error("Cannot write " + path.string() + ": " + why);
  };
  try {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    if (!stream) throw fail("the folder does not exist or cannot be written to");
    write(stream);
    stream.close();
    if (!stream) throw fail("not everything was taken; is the disk full?");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) throw fail(error.message());
}

}  // namespace tandem
