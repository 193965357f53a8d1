// SPDX-License-Identifier: MIT
// One download with libcurl: http or https, redirects within these, resumed, with a limit of size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

namespace tandem::data {

/// The server or the way to it failed: what was asked for may come another time or from another
/// place.
class DownloadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Download {
  std::string url;
  std::filesystem::path file;  // continued if it exists
  std::uint64_t most_bytes = 0;
  std::function<void(std::uint64_t received, std::uint64_t total)> progress;
};

/// Throws DownloadError, DataError for a file that is too large. What has come so far stays in the
/// file.
void download(const Download& request);

/// Whether a name can stand in an address as it is; others are escaped.
std::string escape_name(const std::string& name);

}  // namespace tandem::data
