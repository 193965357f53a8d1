// SPDX-License-Identifier: MIT
// What a client asks and what it is answered.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/url.h"

namespace tandem::serve {

struct Request {
  std::string method = {};
  Target target = {};
  std::string host = {};           // of the target or the header
  std::string cookie = {};         // the header
  std::string authorization = {};  // the header
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::shared_ptr<const std::string> text = nullptr;  // shared, never copied
  std::string_view fixed = {};                        // where there is no text; lives forever
  Headers headers = {};
  // A stream of events instead, of which the text is the first.
  bool stream = false;
  std::uint64_t number = 0;  // of the first event
};

/// What streams tell.
struct Event {
  std::uint64_t number = 0;  // grows
  std::shared_ptr<const std::string> text = nullptr;
};

/// {"error": why}
Response failure(int status, std::string_view why);

}  // namespace tandem::serve
