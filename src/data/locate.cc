// SPDX-License-Identifier: MIT
#include "data/locate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tandem::data {

namespace fs = std::filesystem;

std::string plain_name(const std::string& name) {
  if (name.ends_with(".gz") || name.ends_with(".xz")) return name.substr(0, name.size() - 3);
  return name;
}

std::optional<fs::path> find_packed(const fs::path& path) {
  for (const char* ending : {"", ".gz", ".xz"}) {
    fs::path candidate = path;
    candidate += ending;
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) return candidate;
  }
  return std::nullopt;
}

Locator::Locator(const Recipe& recipe, const std::vector<fs::path>& search)
    : recipe_(recipe), roots_(search) {
  for (const fs::path& root : search) {
    // The own folder first: mnist and fashion-mnist have the same file names.
    for (const std::string& folder : recipe.folders) folders_.push_back(root / folder);
    folders_.push_back(root);
  }
}

std::optional<fs::path> Locator::find(const std::string& name) const {
  for (const fs::path& folder : folders_) {
    if (auto found = find_packed(folder / plain_name(name))) return found;
  }
  return std::nullopt;
}

std::optional<fs::path> Locator::find_folder(const std::string& name) const {
  for (const fs::path& folder : folders_) {
    std::error_code error;
    if (fs::is_directory(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

fs::path Locator::require(const std::string& name) const {
  if (auto found = find(name)) return *found;
  fail_missing(fmt::format("{} (plain, .gz or .xz)", plain_name(name)));
}

void Locator::fail_missing(const std::string& what) const {
  std::vector<std::string> roots;
  for (const fs::path& root : roots_) roots.push_back(root.string());
  const std::string folder = recipe_.folders.empty() ? recipe_.name : recipe_.folders.front();
  throw DataError(
      fmt::format("Data set '{}': found no {} in {}\n{}", recipe_.name, what,
                  roots.empty() ? "any folder" : fmt::format("{}", fmt::join(roots, ", ")),
                  how_to_get(recipe_, (roots_.empty() ? fs::path(".") : roots_.front()) / folder)));
}

std::string how_to_get(const Recipe& recipe, const fs::path& folder) {
  std::vector<std::string> needed;
  std::vector<std::string> optional;
  bool published = true;
  for (const FileInfo& file : recipe.files) {
    (file.optional ? optional : needed).push_back(file.name);
    published &= !file.url.empty();
  }
  std::string text;
  if (published) text += fmt::format("  either: tandem data fetch {}\n", recipe.name);
  text += fmt::format("  {}put into {}: {}\n", published ? "or " : "", folder.string(),
                      fmt::join(needed, ", "));
  if (!optional.empty())
    text += fmt::format("  not always needed: {}\n", fmt::join(optional, ", "));
  text += fmt::format("  they come from {}", recipe.page);
  return text;
}

}  // namespace tandem::data
