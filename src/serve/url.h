// SPDX-License-Identifier: MIT
// Addresses: the one that is printed, and the targets of requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem::serve {

/// All but letters, digits and "-._~" as %XX, so that the text stands for itself anywhere in an
/// address and in a cookie.
std::string percent_encode(std::string_view text);
/// The opposite. A "%" that is not followed by two hexadecimal digits stands for itself, and so does
/// "+".
std::string percent_decode(std::string_view text);

/// The parts of a request's target, which is "/path?query" or "http://host/path?query".
struct Target {
  std::optional<std::string> host = {};  // where the target names one
  std::string path = {};                 // decoded
  std::string query = {};                // as it came
};
Target parse_target(std::string_view text);

/// The value of a name in a query, decoded.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

/// The address that opens the dashboard in a browser.
std::string page_address(std::string_view host, int port, std::string_view token);

}  // namespace tandem::serve
