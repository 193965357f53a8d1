// SPDX-License-Identifier: MIT
#include "serve/http.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "serve/connections.h"
#include "serve/streams.h"
#include "serve/suspended.h"
#include "serve/workers.h"

namespace tandem::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kStreams = 100;
constexpr std::size_t kThreads = 4;    // that make answers
constexpr std::size_t kWaiting = 256;  // answers that nobody makes yet
// Where one of these is reached, the connection that came first is closed, so a new one gets in.
constexpr Connections::Limits kLimits = {{
    {.time = 10s, .number = 128},  // reading
    {},                            // answering: kThreads + kWaiting
    {.time = 60s, .number = 256},  // sending
    {.time = 60s},                 // streaming: kStreams
    {},                            // watching: kStreams
}};
constexpr unsigned kConnections = 768;      // more than all of these together
constexpr std::size_t kMemory = 32 * 1024;  // of a connection: the head of a request must fit
constexpr std::size_t kBody = 64 * 1024;    // that is read and thrown away, to be polite
constexpr auto kTick = 250ms;               // between looks for connections that are late

/// One request and what becomes of it.
struct Exchange {
  Request request = {};
  bool has_head = false;
  bool needs_host = false;  // HTTP/1.1
  int hosts = 0;            // headers of that name
  bool has_body = false;
  bool leaves_body = false;  // too large to be read
  std::size_t body = 0;      // bytes that came
  Connections::Connection* entry = nullptr;
  bool was_later = false;  // it came back from another thread
  std::optional<Response> response = std::nullopt;
};

Connections::Connection* entry_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == nullptr ? nullptr : static_cast<Connections::Connection*>(info->socket_context);
}

bool is(std::string_view name, const char* expected) {
  return name.size() == std::strlen(expected) &&
         strncasecmp(name.data(), expected, name.size()) == 0;
}

void take_header(Exchange& exchange, std::string_view name, std::string_view value) {
  Request& request = exchange.request;
  if (is(name, MHD_HTTP_HEADER_HOST)) {
    ++exchange.hosts;
    // A target that names a host is right where the header differs.
    if (!request.target.host) request.host = value;
  } else if (is(name, MHD_HTTP_HEADER_COOKIE)) {
    if (!request.cookie.empty()) request.cookie += "; ";
    request.cookie += value;
  } else if (is(name, MHD_HTTP_HEADER_AUTHORIZATION)) {
    request.authorization = value;
  } else if (is(name, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
    exchange.has_body = true;
  } else if (is(name, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
    std::size_t length = kBody + 1;  // where it is no number that fits
    std::from_chars(value.data(), value.data() + value.size(), length);
    exchange.has_body |= length > 0;
    exchange.leaves_body |= length > kBody;
  } else if (is(name, MHD_HTTP_HEADER_EXPECT)) {
    exchange.leaves_body = true;
  }
}

void take_head(MHD_Connection* connection, const char* method, const char* version,
               Exchange& exchange) {
  exchange.needs_host = std::string_view(version) != MHD_HTTP_VERSION_1_0;
  exchange.request.method = method;
  if (exchange.request.target.host) exchange.request.host = *exchange.request.target.host;
  struct Taking {
    Exchange& exchange;
    std::exception_ptr thrown = nullptr;
  } taking{.exchange = exchange};
  MHD_get_connection_values_n(
      connection, MHD_HEADER_KIND,
      [](void* state, MHD_ValueKind /*kind*/, const char* name, std::size_t name_size,
         const char* value, std::size_t value_size) {
        auto& to = *static_cast<Taking*>(state);
        try {
          take_header(to.exchange, {name, name_size},
                      value == nullptr ? std::string_view() : std::string_view(value, value_size));
          return MHD_YES;
        } catch (...) {
          to.thrown = std::current_exception();
          return MHD_NO;
        }
      },
      &taking);
  if (taking.thrown) std::rethrow_exception(taking.thrown);
}

/// What is wrong with the request itself, whoever asks.
std::optional<Response> refusal(const Exchange& exchange) {
  const std::string& method = exchange.request.method;
  if (exchange.hosts > 1 || (exchange.hosts == 0 && exchange.needs_host)) {
    return failure(400, fmt::format("found {} Host headers, expected one", exchange.hosts));
  }
  if (exchange.has_body && (method == "GET" || method == "HEAD")) {
    return failure(400, "the request has a body, expected none");
  }
  return std::nullopt;
}

template <class Make>
auto or_failure(const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::exception& error) {
    return failure(500, error.what());
  } catch (...) {
    return failure(500, "something went wrong");
  }
}

using Owned = std::shared_ptr<const std::string>;

MHD_Response* make_response(const Response& response) {
  // libmicrohttpd does not write to it.
  const auto buffer = [](const char* data) { return const_cast<char*>(data); };
  if (response.text == nullptr) {
    return MHD_create_response_from_buffer(response.fixed.size(), buffer(response.fixed.data()),
                                           MHD_RESPMEM_PERSISTENT);
  }
  auto owner = std::make_unique<Owned>(response.text);
  MHD_Response* made = MHD_create_response_from_buffer_with_free_callback_cls(
      response.text->size(), buffer(response.text->data()),
      [](void* kept) { delete static_cast<Owned*>(kept); }, owner.get());
  if (made != nullptr) static_cast<void>(owner.release());
  return made;
}

}  // namespace

Response failure(int status, std::string_view why) {
  return {.status = status,
          .text = std::make_shared<const std::string>(nlohmann::json{{"error", why}}.dump(
              -1, ' ', false, nlohmann::json::error_handler_t::replace))};
}

struct Http::Impl {
  explicit Impl(Options given) : options(std::move(given)) {}

  // What libmicrohttpd calls. No exception may leave these.
  static void on_connection(void* self, MHD_Connection* connection, void** entry,
                            MHD_ConnectionNotificationCode what) noexcept;
  static void* on_target(void* self, const char* target, MHD_Connection* connection) noexcept;
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* version, const char* data,
                               std::size_t* size, void** exchange) noexcept;
  static void on_completed(void* self, MHD_Connection* connection, void** exchange,
                           MHD_RequestTerminationCode how) noexcept;

  MHD_Result answer(MHD_Connection* connection, Exchange& exchange);
  MHD_Result answer_later(MHD_Connection* connection, Exchange& exchange);
  MHD_Result send(MHD_Connection* connection, Exchange& exchange, const Response& response);
  void watch();

  Options options;
  Connections connections{kLimits};
  Suspended suspended;
  Streams streams{kStreams, connections, suspended};
  Workers workers{kThreads, kWaiting};
  MHD_Daemon* daemon = nullptr;
  std::thread watching;
  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  bool stopped = false;
};

void Http::Impl::on_connection(void* self, MHD_Connection* connection, void** entry,
                               MHD_ConnectionNotificationCode what) noexcept {
  Impl& impl = *static_cast<Impl*>(self);
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
    if (*entry != nullptr) impl.connections.close(static_cast<Connections::Connection*>(*entry));
    *entry = nullptr;
    return;
  }
  const int socket =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  try {
    *entry = impl.connections.open(socket);
  } catch (...) {
    ::shutdown(socket, SHUT_RDWR);  // nobody would look after it
  }
  { const std::lock_guard guard(impl.mutex); }  // watch() waits, or will see it
  impl.changed.notify_all();
}

/// The first that is known of a request. libmicrohttpd's own reading of a target turns "+" into
/// spaces and stops at "%00".
void* Http::Impl::on_target(void* /*self*/, const char* target,
                            MHD_Connection* connection) noexcept {
  try {
    auto exchange = std::make_unique<Exchange>();
    exchange->request.target = parse_target(target == nullptr ? "" : target);
    exchange->entry = entry_of(connection);
    return exchange.release();
  } catch (...) {
    return nullptr;
  }
}

void Http::Impl::on_completed(void* self, MHD_Connection* /*connection*/, void** exchange,
                              MHD_RequestTerminationCode /*how*/) noexcept {
  const std::unique_ptr<Exchange> done(static_cast<Exchange*>(std::exchange(*exchange, nullptr)));
  if (done != nullptr && done->entry != nullptr) {
    static_cast<Impl*>(self)->connections.move(done->entry, Phase::reading);
  }
}

/// Called when the head has come, for each part of the body, and when all has come or the
/// connection is resumed.
MHD_Result Http::Impl::on_request(void* self, MHD_Connection* connection, const char* /*url*/,
                                  const char* method, const char* version, const char* /*data*/,
                                  std::size_t* size, void** exchange) noexcept {
  Impl& impl = *static_cast<Impl*>(self);
  auto* const current = static_cast<Exchange*>(*exchange);
  if (current == nullptr || current->entry == nullptr) return MHD_NO;
  try {
    if (*size > 0) {
      current->body += std::exchange(*size, 0);
      return current->body <= kBody ? MHD_YES : MHD_NO;
    }
    if (!std::exchange(current->has_head, true)) {
      take_head(connection, method, version, *current);
      if (!current->leaves_body) return MHD_YES;
    }
    return impl.answer(connection, *current);
  } catch (...) {
    return MHD_NO;
  }
}

MHD_Result Http::Impl::answer(MHD_Connection* connection, Exchange& exchange) {
  if (exchange.response) return send(connection, exchange, *exchange.response);
  if (exchange.was_later) return MHD_NO;  // the server stops, or memory is out
  const std::optional<Response> response = or_failure([&]() -> std::optional<Response> {
    if (auto wrong = refusal(exchange)) return wrong;
    return options.now(exchange.request);
  });
  if (response) return send(connection, exchange, *response);
  return answer_later(connection, exchange);
}

MHD_Result Http::Impl::answer_later(MHD_Connection* connection, Exchange& exchange) {
  // Suspended first: the answer may be there before this function returns. The exchange stays,
  // because libmicrohttpd leaves the connection alone until it is resumed.
  connections.move(exchange.entry, Phase::answering);
  if (!suspended.suspend(connection)) return MHD_NO;
  exchange.was_later = true;
  bool added = false;
  try {
    added = workers.add([this, connection, &exchange]() noexcept {
      try {
        exchange.response = or_failure([&] { return options.later(exchange.request); });
      } catch (...) {  // not even memory for the message
      }
      suspended.resume(connection);
    });
  } catch (...) {  // as little
  }
  if (!added) {
    suspended.resume(connection);
    exchange.response = failure(503, "too many requests wait to be answered");
  }
  return MHD_YES;
}

MHD_Result Http::Impl::send(MHD_Connection* connection, Exchange& exchange,
                            const Response& response) {
  if (exchange.request.method == "HEAD" && response.stream) {
    Response head = response;
    head.stream = false;
    return send(connection, exchange, head);
  }
  MHD_Response* made = nullptr;
  if (response.stream) {
    made = streams.open(connection, exchange.entry,
                        {.number = response.number, .text = response.text});
    if (made == nullptr) {
      return send(connection, exchange,
                  failure(503, fmt::format("{} viewers look on already", kStreams)));
    }
  } else {
    made = make_response(response);
  }
  if (made == nullptr) return MHD_NO;
  const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> owner(made,
                                                                             &MHD_destroy_response);
  const auto add = [made](const std::string& name, const std::string& value) {
    return MHD_add_response_header(made, name.c_str(), value.c_str()) == MHD_YES;
  };
  bool whole = add(MHD_HTTP_HEADER_CONTENT_TYPE, response.type);
  for (const auto& [name, value] : options.headers) whole = whole && add(name, value);
  for (const auto& [name, value] : response.headers) whole = whole && add(name, value);
  // What follows a body that was not expected may be no request.
  if (exchange.has_body) whole = whole && add(MHD_HTTP_HEADER_CONNECTION, "close");
  if (!whole) return MHD_NO;
  connections.move(exchange.entry, response.stream ? Phase::streaming : Phase::sending);
  return MHD_queue_response(connection, static_cast<unsigned>(response.status), made);
}

void Http::Impl::watch() {
  std::unique_lock guard(mutex);
  const auto is_stopped = [this] { return stopped; };
  while (!stopped) {
    changed.wait(guard, [this] { return stopped || !connections.empty(); });
    if (changed.wait_for(guard, kTick, is_stopped)) return;
    guard.unlock();
    connections.end_late(Connections::Clock::now());
    try {
      streams.end_left();
    } catch (const std::exception&) {  // out of memory, perhaps not the next time
    }
    guard.lock();
  }
}

Http::Http(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Http::~Http() { stop(); }

void Http::start(int listening) {
  Impl* const impl = impl_.get();
  impl->daemon = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, /*port=*/0, nullptr, nullptr,
      &Impl::on_request, impl, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_NOTIFY_CONNECTION,
      &Impl::on_connection, impl, MHD_OPTION_URI_LOG_CALLBACK, &Impl::on_target, impl,
      MHD_OPTION_NOTIFY_COMPLETED, &Impl::on_completed, impl, MHD_OPTION_CONNECTION_LIMIT,
      kConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMemory, MHD_OPTION_END);
  if (impl->daemon == nullptr) throw std::runtime_error("libmicrohttpd cannot be started");
  impl->watching = std::thread([impl] { impl->watch(); });
}

void Http::stop() {
  {
    const std::lock_guard guard(impl_->mutex);
    impl_->stopped = true;
  }
  impl_->changed.notify_all();
  if (impl_->watching.joinable()) impl_->watching.join();
  impl_->workers.stop();
  impl_->suspended.close();
  if (impl_->daemon != nullptr) MHD_stop_daemon(std::exchange(impl_->daemon, nullptr));
}

void Http::publish(const Event& event) { impl_->streams.publish(event); }

void Http::heartbeat() { impl_->streams.heartbeat(); }

std::size_t Http::streams() const { return impl_->streams.count(); }

}  // namespace tandem::serve
