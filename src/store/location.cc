// SPDX-License-Identifier: MIT
#include "store/location.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "store/store.h"

namespace tandem::store {
namespace {

/// With %xx as the characters that they stand for.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char code = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto [end, error] = std::from_chars(&text[i + 1], &text[i + 1] + 2, code, 16);
      if (error == std::errc() && end == &text[i + 1] + 2) {
        plain += static_cast<char>(code);
        i += 2;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

/// After "postgresql://". Rather too often than not: a password that is not written as a URL wants
/// it is one too.
bool has_password(std::string_view rest) {
  constexpr std::size_t kNone = std::string_view::npos;
  const std::size_t question = rest.find('?');
  std::size_t user_end = rest.substr(0, question).rfind('@');
  if (user_end == kNone && rest.find('@') < rest.find('/')) user_end = rest.find('@');
  if (user_end != kNone && rest.substr(0, user_end).find(':') != kNone) return true;
  while (!rest.empty() && rest.find_first_of("?&") != kNone) {
    rest.remove_prefix(rest.find_first_of("?&") + 1);
    const std::string key = decoded(rest.substr(0, rest.find_first_of("=&")));
    if (key == "password" || key == "sslpassword") return true;
  }
  return false;
}

}  // namespace

bool is_postgres(const std::string& location) {
  const std::size_t end = location.find("://");
  if (end == std::string::npos) return false;
  const std::string scheme = location.substr(0, end);
  const bool is_word = std::all_of(scheme.begin(), scheme.end(),
                                   [](unsigned char c) { return std::isalnum(c) != 0; });
  if (scheme.empty() || !is_word) return false;
  if (scheme != "postgresql" && scheme != "postgres") {
    throw StoreError(
        fmt::format("found a URL that begins with {}://, expected the path of a file or "
                    "postgresql://HOST/DATABASE",
                    scheme));
  }
  if (has_password(std::string_view(location).substr(end + 3))) {
    throw StoreError(
        "found a password in the URL of the store, where lists of processes and logs show it; "
        "leave it out and put it into the file ~/.pgpass (or the one that PGPASSFILE names) as the "
        "line HOST:PORT:DATABASE:USER:PASSWORD, readable by you alone");
  }
  return true;
}

std::string short_name(const std::string& location) {
  return is_postgres(location) ? location : std::filesystem::path(location).filename().string();
}

}  // namespace tandem::store
