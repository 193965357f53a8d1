// SPDX-License-Identifier: MIT
#include "serve/server.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "report/web_assets.h"
#include "serve/catalogue.h"
#include "serve/guard.h"
#include "serve/http.h"
#include "serve/listen.h"

namespace tandem::serve {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 1s;        // between looks at the stores, while somebody looks on
constexpr auto kHeartbeat = 15s;  // so that a viewer who left is noticed

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr const char* kIndex =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n<title>Tandem</title>\n"
    "<link rel=\"stylesheet\" href=\"/app.css\">\n</head>\n<body>\n<div id=\"app\">\n"
    "<noscript>The dashboard needs scripts; `tandem report` shows the same without.</noscript>\n"
    "</div>\n<script src=\"/app.js\"></script>\n</body>\n</html>\n";

/// The headers of every answer.
Headers headers() {
  return {{"Content-Security-Policy", kPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

/// A number of an address. -1, which nothing has, where it is none or too large.
std::int64_t number(std::string_view digits) {
  std::int64_t value = -1;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() ? value : -1;
}

/// "/api/runs/0/1" as "api", "runs", "0", "1".
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // "/"
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

std::shared_ptr<const std::string> event_text(const std::string& overview) {
  return std::make_shared<const std::string>("event: overview\ndata: " + overview + "\n\n");
}

}  // namespace

struct Server::Impl {
  explicit Impl(const ServerOptions& given)
      : catalogue(given.stores),
        listening(listen_on(given.host, given.port)),
        guard(listening.port, given.token),
        http({.now = [this](const Request& request) { return answer_now(request); },
              .later = [this](const Request& request) { return answer_later(request); },
              .headers = headers()}) {}
  ~Impl() {
    if (listening.socket >= 0) close(listening.socket);
  }

  bool may_pass_the_door(const Request& request) const;
  std::optional<Response> answer_now(const Request& request) const;
  Response answer_later(const Request& request);
  Response answer_events();
  void look();
  void tell();

  Catalogue catalogue;
  Listening listening;
  Guard guard;
  Http http;
};

/// The address that was printed brings the token along once; a cookie has it from then on.
bool Server::Impl::may_pass_the_door(const Request& request) const {
  if (request.target.path != "/" || (request.method != "GET" && request.method != "HEAD")) {
    return false;
  }
  const std::optional<std::string> token = query_value(request.target.query, "token");
  return token && guard.is_token(*token);
}

std::optional<Response> Server::Impl::answer_now(const Request& request) const {
  if (may_pass_the_door(request)) {
    // Away from the history.
    return Response{.status = 303,
                    .type = "text/plain",
                    .headers = {{"Location", "/"}, {"Set-Cookie", guard.cookie()}}};
  }
  const auto refusal = guard.check({.method = request.method,
                                    .host = request.host,
                                    .cookie = request.cookie,
                                    .authorization = request.authorization});
  if (refusal) {
    Response response = failure(refusal->status, refusal->why);
    if (refusal->status == 405) response.headers = {{"Allow", "GET, HEAD"}};
    return response;
  }
  const std::string& path = request.target.path;
  if (path == "/") return Response{.type = "text/html; charset=utf-8", .fixed = kIndex};
  if (path == "/app.js") {
    return Response{.type = "text/javascript; charset=utf-8", .fixed = report::web_script()};
  }
  if (path == "/app.css") {
    return Response{.type = "text/css; charset=utf-8", .fixed = report::web_style()};
  }
  if (path.substr(0, 5) == "/api/") return std::nullopt;
  return failure(404, "there is no such page");
}

Response Server::Impl::answer_later(const Request& request) {
  const std::vector<std::string_view> parts = parts_of(request.target.path);
  const auto is = [&](std::string_view name, std::size_t numbers) {
    return parts.size() == 2 + numbers && parts[1] == name;
  };
  const auto id = [&](std::size_t i) { return number(parts[2 + i]); };
  const auto store = [&] { return static_cast<std::size_t>(id(0)); };
  Catalogue::Text text;
  if (is("events", 0)) return answer_events();
  if (is("overview", 0)) {
    if (http.streams() == 0) catalogue.refresh();
    text = catalogue.overview().text;
  } else if (is("studies", 2)) {
    text = catalogue.study(store(), id(1));
  } else if (is("runs", 2)) {
    RunQuery query;
    try {
      query = parse_run_query(request.target.query);
    } catch (const std::invalid_argument& error) {
      return failure(400, error.what());
    }
    text = catalogue.runs(store(), id(1), query);
  } else if (is("run", 3)) {
    text = catalogue.run(store(), id(1), id(2));
  } else {
    return failure(404, "there is no such page");
  }
  if (text == nullptr) return failure(404, "there is no such study or run");
  return {.text = text};
}

Response Server::Impl::answer_events() {
  catalogue.refresh();
  const Catalogue::Overview now = catalogue.overview();
  return {.type = "text/event-stream",
          .text = event_text(*now.text),
          .stream = true,
          .number = now.number};
}

/// Does not look while no client watches.
void Server::Impl::look() {
  while (!catalogue.closed()) {
    try {
      if (http.streams() > 0) catalogue.refresh();
    } catch (const std::exception&) {  // out of memory, perhaps not in a second
    }
    catalogue.wait_closed(kLook);
  }
}

/// Tells all streams what is new.
void Server::Impl::tell() {
  std::uint64_t seen = 0;
  while (!catalogue.closed()) {
    const Catalogue::Overview now = catalogue.wait(seen, kHeartbeat);
    try {
      if (now.number == seen) {
        http.heartbeat();
      } else {
        http.publish({.number = now.number, .text = event_text(*now.text)});
      }
      seen = now.number;
    } catch (const std::exception&) {  // as above
      catalogue.wait_closed(kLook);
    }
  }
}

Server::Server(const ServerOptions& options) : impl_(std::make_unique<Impl>(options)) {}

Server::~Server() = default;

int Server::port() const { return impl_->listening.port; }

void Server::run() {
  if (impl_->catalogue.closed()) return;
  impl_->http.start(std::exchange(impl_->listening.socket, -1));
  std::thread looking([this] { impl_->look(); });
  impl_->tell();
  looking.join();
  impl_->http.stop();
}

void Server::stop() { impl_->catalogue.close(); }

}  // namespace tandem::serve
