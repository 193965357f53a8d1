// SPDX-License-Identifier: MIT
#include "serve/guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "serve/url.h"

namespace tandem::serve {
namespace {

constexpr std::string_view kCookie = "tandem_token";

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// The value of our cookie among those of a Cookie header; empty where it is not there.
std::string_view cookie_value(std::string_view header) {
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(';'), header.size());
    std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == kCookie) {
      return pair.substr(equals + 1);
    }
  }
  return {};
}

/// Whether a Host header names this machine and the port. No page elsewhere can have the name
/// localhost or an address that reaches this machine alone.
bool is_ours(std::string_view host, int port) {
  const std::string ending = fmt::format(":{}", port);
  if (host.size() > ending.size() && host.substr(host.size() - ending.size()) == ending) {
    host.remove_suffix(ending.size());
  } else if (port != 80) {
    return false;
  }
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  return brackets == (host.find(':') != std::string_view::npos) && is_loopback(host);
}

}  // namespace

bool is_loopback(std::string_view address) {
  const std::string text = lower(address);
  if (text == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24U) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

bool Guard::is_token(std::string_view text) const {
  if (token_.empty() || text.size() != token_.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    difference |= static_cast<unsigned char>(text[i]) ^ static_cast<unsigned char>(token_[i]);
  }
  return difference == 0;
}

std::string Guard::cookie() const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", kCookie, percent_encode(token_));
}

std::optional<Refusal> Guard::check(const Head& head) const {
  if (head.method != "GET" && head.method != "HEAD") {
    return Refusal{.status = 405,
                   .why = "the dashboard only shows: GET and HEAD are what it answers"};
  }
  if (!has_token()) {
    if (is_ours(head.host, port_)) return std::nullopt;
    return Refusal{.status = 403,
                   .why = fmt::format("the Host header names another site, expected localhost:{}; "
                                      "`tandem serve --host` opens the dashboard to others",
                                      port_)};
  }
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = head.authorization;
  const bool known = is_token(percent_decode(cookie_value(head.cookie))) ||
                     (authorization.substr(0, kBearer.size()) == kBearer &&
                      is_token(authorization.substr(kBearer.size())));
  if (known) return std::nullopt;
  return Refusal{.status = 401,
                 .why =
                     "the token is missing or another: open the address that `tandem serve` "
                     "printed"};
}

}  // namespace tandem::serve
