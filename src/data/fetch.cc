// SPDX-License-Identifier: MIT
#include "data/fetch.h"

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>

#include "data/download.h"
#include "data/fail.h"
#include "data/locate.h"
#include "data/verify.h"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;

std::string address(const FileInfo& file, const std::string& mirror) {
  if (mirror.empty()) return file.url;
  return mirror + (mirror.ends_with('/') ? "" : "/") + escape_name(file.name);
}

/// A file that can be read to its end, and whose digest is right if it is known.
bool acceptable(const FileCheck& check) {
  return check.state == FileCheck::State::good || check.state == FileCheck::State::unknown;
}

class Fetcher {
 public:
  Fetcher(const Recipe& recipe, const FetchOptions& options) : recipe_(recipe), options_(options) {}

  fs::path get(const FileInfo& file) {
    fs::path path = options_.folder / file.name;
    std::error_code error;
    if (fs::exists(path, error) && acceptable(check_file(file, path))) {
      report(file, fs::file_size(path), fs::file_size(path), true);
      return path;
    }
    fs::path part = path;
    part += ".part";
    const bool resumed = fs::exists(part, error);
    get_part(file, part);
    FileCheck check = check_file(file, part);
    if (!acceptable(check) && resumed) {
      // What was there before was perhaps of another version of the file: all of it again.
      fs::remove(part);
      get_part(file, part);
      check = check_file(file, part);
    }
    if (!acceptable(check)) {
      fs::remove(part);
      fail<DataError>(address(file, options_.mirror), "",
                      fmt::format("{}: {}", state_name(check.state), check.detail),
                      "the published file; what came was removed");
    }
    fs::rename(part, path);
    report(file, fs::file_size(path), fs::file_size(path), true);
    return path;
  }

 private:
  void get_part(const FileInfo& file, const fs::path& part) {
    try {
      download({.url = address(file, options_.mirror),
                .file = part,
                .most_bytes = options_.most_bytes,
                .progress = [&](std::uint64_t received, std::uint64_t total) {
                  report(file, received, total, false);
                }});
    } catch (const DownloadError& error) {
      std::error_code ignored;
      if (fs::exists(part, ignored) && fs::file_size(part, ignored) == 0) fs::remove(part, ignored);
      throw DataError(fmt::format("Data set '{}': cannot download {}\n{}", recipe_.name,
                                  error.what(), how_to_get(recipe_, options_.folder)));
    }
  }

  void report(const FileInfo& file, std::uint64_t received, std::uint64_t total, bool done) const {
    if (!options_.progress) return;
    options_.progress({.file = file.name, .received = received, .total = total, .done = done});
  }

  const Recipe& recipe_;
  const FetchOptions& options_;
};

}  // namespace

std::vector<fs::path> fetch(const Recipe& recipe, const FetchOptions& options) {
  if (recipe.files.empty()) {
    throw std::invalid_argument(fmt::format("Data set '{}' has no files to fetch", recipe.name));
  }
  if (!options.mirror.empty() && !options.mirror.starts_with("http://") &&
      !options.mirror.starts_with("https://")) {
    throw std::invalid_argument(
        fmt::format("Invalid mirror '{}', expected http://... or https://...", options.mirror));
  }
  if (options.mirror.empty()) {
    for (const FileInfo& file : recipe.files) {
      if (!file.url.empty()) continue;
      throw DataError(
          fmt::format("Data set '{}': its files are not at a fixed address\n{}\n  or "
                      "give the address of a copy with --mirror",
                      recipe.name, how_to_get(recipe, options.folder)));
    }
  }
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error)
    fail<DataError>(options.folder.string(), "", error.message(), "a folder that can be written");
  Fetcher fetcher(recipe, options);
  std::vector<fs::path> paths;
  for (const FileInfo& file : recipe.files) {
    try {
      paths.push_back(fetcher.get(file));
    } catch (const fs::filesystem_error& problem) {
      throw DataError(fmt::format("{}: {}", problem.path1().string(), problem.code().message()));
    }
  }
  return paths;
}

}  // namespace tandem::data
