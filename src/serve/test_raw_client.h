// SPDX-License-Identifier: MIT
// For tests of the server: a client that sends any bytes, and can be rude about it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace tandem::serve {

struct Answer {
  int status = 0;  // 0: the connection was closed without one
  std::string head = {};
  std::string body = {};
  bool whole = false;  // as long as Content-Length says

  bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<in_port_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() {
    if (socket_ >= 0) close(socket_);
  }
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        connected_(other.connected_),
        buffer_(std::move(other.buffer_)) {}
  RawClient& operator=(RawClient&&) = delete;

  bool connected() const { return connected_; }

  /// False where the server closed the connection, or does not read for half a minute.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      pollfd ready = {.fd = socket_, .events = POLLOUT, .revents = 0};
      if (poll(&ready, 1, kPatience) <= 0) return false;
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void finish_sending() const { shutdown(socket_, SHUT_WR); }
  /// Closes without a farewell: the server gets an error.
  void reset() {
    const linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(std::exchange(socket_, -1));
  }

  /// Everything until the server closes the connection, `closed` says whether it did in time.
  std::string read_all(bool* closed = nullptr) {
    bool is_open = true;
    while (is_open && receive()) {
      is_open = !over_;
    }
    if (closed != nullptr) *closed = over_;
    return std::exchange(buffer_, {});
  }
  /// Until the text has come; false where it did not.
  bool read_until(std::string_view text) {
    while (buffer_.find(text) == std::string::npos) {
      if (over_ || !receive()) return false;
    }
    return true;
  }
  /// The next answer of the connection.
  Answer read_answer(bool to_head = false) {
    Answer answer;
    if (!read_until("\r\n\r\n")) return answer;
    const std::size_t end = buffer_.find("\r\n\r\n") + 4;
    answer.head = buffer_.substr(0, end);
    buffer_.erase(0, end);
    answer.status = std::atoi(answer.head.c_str() + std::string_view("HTTP/1.1 ").size());
    const std::size_t at = answer.head.find("Content-Length: ");
    if (at == std::string::npos || to_head) return answer;
    const std::size_t length = std::strtoull(answer.head.c_str() + at + 16, nullptr, 10);
    while (buffer_.size() < length && !over_ && receive()) {
    }
    answer.body = buffer_.substr(0, length);
    answer.whole = answer.body.size() == length;
    buffer_.erase(0, length);
    return answer;
  }

 private:
  static constexpr int kPatience = 30'000;  // milliseconds

  /// False where nothing comes.
  bool receive() {
    pollfd ready = {.fd = socket_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kPatience) <= 0) return false;
    std::array<char, 65536> part;  // NOLINT: filled by recv
    const ssize_t size = recv(socket_, part.data(), part.size(), 0);
    if (size > 0) {
      buffer_.append(part.data(), static_cast<std::size_t>(size));
    } else {
      over_ = true;
    }
    return true;
  }

  int socket_ = -1;
  bool connected_ = false;
  bool over_ = false;  // the server closed it
  std::string buffer_ = {};
};

}  // namespace tandem::serve
