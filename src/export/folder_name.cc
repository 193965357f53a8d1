// SPDX-License-Identifier: MIT
#include "export/folder_name.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace tandem::exporting {
namespace {

/// Labels of optimizers and keys of tasks have these; '~' is for us.
bool plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view(" ._-+=,:@()'>").find(c) != std::string_view::npos;
}

}  // namespace

std::string folder_name(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  constexpr std::size_t kHash = 17;  // with its '~'
  std::string clean(name);
  for (char& c : clean) {
    if (!plain(c)) c = '_';
  }
  if (clean.empty()) clean = "_";
  if (clean.front() == '.' || clean.front() == ' ') clean.front() = '_';
  if (clean.back() == ' ' || clean.back() == '.') clean.back() = '_';
  if (clean == name && clean.size() <= kLongest) return clean;
  clean.resize(std::min(clean.size(), kLongest - kHash));
  return fmt::format("{}~{:016x}", clean, XXH3_64bits(name.data(), name.size()));
}

}  // namespace tandem::exporting
