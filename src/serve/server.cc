// SPDX-License-Identifier: MIT
#include "serve/server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "report/web_assets.h"
#include "serve/catalogue.h"
#include "serve/guard.h"

namespace tandem::serve {
namespace {

using namespace std::chrono_literals;

// A stream of events keeps a thread of httplib's, asleep, as long as its viewer is there.
constexpr int kThreads = 128;
constexpr int kStreams = 100;
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

void fail(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(
      nlohmann::json{{"error", why}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      "application/json");
}

/// A number of an address. -1, which nothing has, where it is too large.
std::int64_t number(const std::string& digits) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
}

}  // namespace

struct Server::Impl {
  explicit Impl(const ServerOptions& given) : options(given), catalogue(given.stores) {}

  void answer_pages();
  void answer_data();
  void answer_events();
  std::optional<Refusal> check(const httplib::Request& request) const;
  void look();

  ServerOptions options;
  Catalogue catalogue;
  httplib::Server server;
  int port = 0;
  std::unique_ptr<Guard> guard;
  std::atomic<int> streams = 0;
  std::atomic<bool> entered = false, left = false;  // run()
};

std::optional<Refusal> Server::Impl::check(const httplib::Request& request) const {
  // The address that was printed brings the token along once; a cookie has it from then on.
  if (request.path == "/" && guard->has_token() && request.has_param("token") &&
      (request.method == "GET" || request.method == "HEAD") &&
      guard->is_token(request.get_param_value("token"))) {
    return std::nullopt;
  }
  return guard->check({.method = request.method,
                       .host = request.get_header_value("Host"),
                       .cookie = request.get_header_value("Cookie"),
                       .authorization = request.get_header_value("Authorization")});
}

void Server::Impl::answer_pages() {
  server.Get("/", [this](const httplib::Request& request, httplib::Response& response) {
    if (guard->has_token() && request.has_param("token")) {
      response.set_header("Set-Cookie", guard->cookie());
      response.set_redirect("/", 303);  // away from the history
      return;
    }
    response.set_content(kIndex, "text/html; charset=utf-8");
  });
  server.Get("/app.js", [](const httplib::Request&, httplib::Response& response) {
    const std::string_view text = report::web_script();
    response.set_content(text.data(), text.size(), "text/javascript; charset=utf-8");
  });
  server.Get("/app.css", [](const httplib::Request&, httplib::Response& response) {
    const std::string_view text = report::web_style();
    response.set_content(text.data(), text.size(), "text/css; charset=utf-8");
  });
}

void Server::Impl::answer_data() {
  const auto give = [](httplib::Response& response, const Catalogue::Text& text) {
    if (text == nullptr) {
      fail(response, 404, "there is no such study or run");
      return;
    }
    // The text is shared with other viewers: it is sent as it lies there.
    response.set_content_provider(
        text->size(), "application/json",
        [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          return sink.write(text->data() + offset, length);
        });
  };
  server.Get("/api/overview", [this, give](const httplib::Request&, httplib::Response& response) {
    if (streams == 0) catalogue.refresh();
    give(response, catalogue.overview().text);
  });
  server.Get(R"(/api/studies/(\d+)/(\d+))",
             [this, give](const httplib::Request& request, httplib::Response& response) {
               give(response, catalogue.study(static_cast<std::size_t>(number(request.matches[1])),
                                              number(request.matches[2])));
             });
  server.Get(R"(/api/runs/(\d+)/(\d+))",
             [this, give](const httplib::Request& request, httplib::Response& response) {
               give(response, catalogue.runs(static_cast<std::size_t>(number(request.matches[1])),
                                             number(request.matches[2])));
             });
  server.Get(R"(/api/run/(\d+)/(\d+)/(\d+))", [this, give](const httplib::Request& request,
                                                           httplib::Response& response) {
    give(response, catalogue.run(static_cast<std::size_t>(number(request.matches[1])),
                                 number(request.matches[2]), number(request.matches[3])));
  });
}

void Server::Impl::answer_events() {
  server.Get("/api/events", [this](const httplib::Request&, httplib::Response& response) {
    if (++streams > kStreams) {
      --streams;
      fail(response, 503, fmt::format("{} viewers look on already", kStreams));
      return;
    }
    // Given back when the response goes, however that comes about.
    const std::shared_ptr<void> stream(nullptr, [this](void*) { --streams; });
    auto seen = std::make_shared<std::uint64_t>(0);
    catalogue.refresh();
    response.set_chunked_content_provider(
        "text/event-stream", [this, stream, seen](std::size_t /*offset*/, httplib::DataSink& sink) {
          const Catalogue::Overview now = catalogue.wait(*seen, kHeartbeat);
          if (catalogue.closed()) return false;
          std::string text = ": still here\n\n";
          if (now.number != *seen) text = "event: overview\ndata: " + *now.text + "\n\n";
          *seen = now.number;
          return sink.write(text.data(), text.size());
        });
  });
}

/// Nobody looks on: nothing is looked at.
void Server::Impl::look() {
  while (!catalogue.closed()) {
    if (streams > 0) catalogue.refresh();
    catalogue.wait_closed(kLook);
  }
}

Server::Server(const ServerOptions& options) : impl_(std::make_unique<Impl>(options)) {
  httplib::Server& server = impl_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Without httplib's SO_REUSEPORT, with which two servers share a port in silence.
  socket_t listening = INVALID_SOCKET;
  server.set_socket_options([&listening](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    listening = socket;
  });
  server.set_payload_max_length(4096);  // nobody has anything to tell
  server.set_read_timeout(10s);
  server.set_keep_alive_max_count(100);
  server.set_default_headers({{"Content-Security-Policy", kPolicy},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Cross-Origin-Opener-Policy", "same-origin"},
                              {"Cache-Control", "no-store"}});
  server.set_pre_routing_handler(
      [impl = impl_.get()](const httplib::Request& request, httplib::Response& response) {
        const auto refusal = impl->check(request);
        if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
        fail(response, refusal->status, refusal->why);
        if (refusal->status == 405) response.set_header("Allow", "GET, HEAD");
        return httplib::Server::HandlerResponse::Handled;
      });
  server.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr thrown) {
        try {
          std::rethrow_exception(std::move(thrown));
        } catch (const std::exception& error) {
          fail(response, 500, error.what());
        } catch (...) {
          fail(response, 500, "something went wrong");
        }
      });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) fail(response, response.status, "there is no such page");
  });
  impl_->answer_pages();
  impl_->answer_data();
  impl_->answer_events();

  if (options.port == 0) {
    impl_->port = server.bind_to_any_port(options.host);
  } else if (server.bind_to_port(options.host, options.port)) {
    impl_->port = options.port;
  } else {
    impl_->port = -1;
  }
  if (impl_->port <= 0) {
    throw std::runtime_error(
        fmt::format("cannot listen on {} port {}: the port is taken, or the address is not this "
                    "machine's; --port 0 takes one that is free",
                    options.host, options.port));
  }
  // httplib's queue is of five: viewers who come at the same moment would wait for seconds or minutes.
  ::listen(listening, kThreads);
  server.set_socket_options({});
  impl_->guard = std::make_unique<Guard>(impl_->port, options.token);
}

Server::~Server() = default;

int Server::port() const { return impl_->port; }

void Server::run() {
  impl_->entered = true;
  if (!impl_->catalogue.closed()) {
    std::thread looking([this] { impl_->look(); });
    impl_->server.listen_after_bind();
    impl_->catalogue.close();
    looking.join();
  }
  impl_->left = true;
}

void Server::stop() {
  impl_->catalogue.close();
  // httplib ignores a stop before it listens, and run() may be on its way there.
  while (impl_->entered && !impl_->left) {
    impl_->server.stop();
    std::this_thread::sleep_for(10ms);
  }
}

}  // namespace tandem::serve
