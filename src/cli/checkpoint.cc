// SPDX-License-Identifier: MIT
#include "cli/checkpoint.h"

#include <fmt/format.h>
#include <tandem/errors.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "data/dataset.h"
#include "train/trainer.h"

namespace tandem::cli {

bool has_checkpoint(const std::string& path) {
  if (path.empty()) return false;
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(path, none);
  if (std::filesystem::is_directory(status)) {
    throw std::invalid_argument(fmt::format("--checkpoint {} is a folder, expected a file", path));
  }
  return std::filesystem::is_regular_file(status);
}

void load_checkpoint(train::Trainer& trainer, const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw data::DataError(
        fmt::format("{}: cannot be read: {}", path, std::system_category().message(errno)));
  }
  try {
    trainer.load(stream);
  } catch (const StateError& error) {
    throw data::DataError(fmt::format(
        "{}: {}; to begin anew, remove the file or give another --checkpoint", path, error.what()));
  }
}

}  // namespace tandem::cli
