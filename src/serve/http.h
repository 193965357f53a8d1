// SPDX-License-Identifier: MIT
// HTTP for the dashboard, by libmicrohttpd: one thread serves all connections, a few make answers
// that take time. A client gets whole answers, never parts of them, and cannot keep others out: it
// has a limited time for a whole request and for reading the answer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "serve/message.h"

namespace tandem::serve {

class Http {
 public:
  struct Options {
    /// Answers at once, or leaves it to `later`. Must not wait for anything.
    std::function<std::optional<Response>(const Request&)> now;
    /// Answers on one of a few threads. What either throws is answered with status 500.
    std::function<Response(const Request&)> later;
    Headers headers = {};  // of every answer
  };

  explicit Http(Options options);
  ~Http();

  /// Answers whoever connects to the socket, which it closes. Throws std::runtime_error.
  void start(int listening);
  /// Closes all connections. Returns when no answer is being made.
  void stop();

  /// Tells all streams; those that are opened later begin with it.
  void publish(const Event& event);
  void heartbeat();
  std::size_t streams() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::serve
