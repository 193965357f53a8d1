// SPDX-License-Identifier: MIT
#include "serve/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace tandem::serve {
namespace {

/// The value of a hexadecimal digit, -1 for other characters.
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool starts_with_http(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  return text.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), text.begin(), [](char expected, char found) {
           return expected == std::tolower(static_cast<unsigned char>(found));
         });
}

}  // namespace

std::string percent_encode(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_plain(c)) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::string percent_decode(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      result += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

Target parse_target(std::string_view text) {
  Target target;
  if (starts_with_http(text)) {
    text.remove_prefix(std::string_view("http://").size());
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    target.host = text.substr(0, end);
    text.remove_prefix(end);
    if (text.empty() || text[0] == '?') target.path = "/";
  }
  const std::size_t question = std::min(text.find('?'), text.size());
  target.path += percent_decode(text.substr(0, question));
  target.query = text.substr(std::min(question + 1, text.size()));
  return target;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decode(pair.substr(0, equals)) == name) {
      return percent_decode(pair.substr(std::min(equals + 1, pair.size())));
    }
  }
  return std::nullopt;
}

std::string page_address(std::string_view host, int port, std::string_view token) {
  std::string name(host);
  if (host.find(':') != std::string_view::npos) {
    // RFC 6874: the "%" before an interface is escaped.
    const std::size_t zone = std::min(host.find('%'), host.size());
    name = fmt::format("[{}{}]", host.substr(0, zone), percent_encode(host.substr(zone)));
  }
  return fmt::format("http://{}:{}/{}", name, port,
                     token.empty() ? "" : "?token=" + percent_encode(token));
}

}  // namespace tandem::serve
