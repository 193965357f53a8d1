// SPDX-License-Identifier: MIT
// For tests: what lies between a client and a server, and can fail at the worst moment.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

namespace tandem::store {

/// Passes bytes on, of one connection at a time, until it is told to cut it at a COMMIT: before the
/// server hears of it, or after it has answered.
class Proxy {
 public:
  enum class Cut { never, before_commit, after_commit };

  explicit Proxy(int server_port) : server_port_(server_port) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    if (bind(listener_, as_general(address), size) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, as_general(address), &size) != 0) {
      throw std::runtime_error("proxy");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() {
    over_ = true;
    thread_.join();
    close(listener_);
  }

  int port() const { return port_; }
  /// At the next COMMIT, once.
  void cut(Cut how) { cut_ = how; }
  bool has_cut() const { return cut_ == Cut::never; }

 private:
  static sockaddr* as_general(sockaddr_in& address) {
    return reinterpret_cast<sockaddr*>(&address);
  }
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  bool readable(int file) const {
    while (!over_) {
      pollfd wanted{.fd = file, .events = POLLIN, .revents = 0};
      if (poll(&wanted, 1, 20) > 0) return true;
    }
    return false;
  }

  void run() {
    while (readable(listener_)) {
      const int client = accept(listener_, nullptr, nullptr);
      const int server = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address = loopback(server_port_);
      if (connect(server, as_general(address), sizeof(address)) == 0) pass_on(client, server);
      close(server);
      close(client);
    }
  }

  void pass_on(int client, int server) {
    std::array<char, 65536> bytes{};
    while (!over_) {
      std::array<pollfd, 2> both{{{.fd = client, .events = POLLIN, .revents = 0},
                                  {.fd = server, .events = POLLIN, .revents = 0}}};
      if (poll(both.data(), both.size(), 20) <= 0) continue;
      for (const pollfd& one : both) {
        if (one.revents == 0) continue;
        const ssize_t size = read(one.fd, bytes.data(), bytes.size());
        if (size <= 0) return;
        const std::string_view text(bytes.data(), static_cast<std::size_t>(size));
        const bool commits = one.fd == client &&
                             text.find(std::string_view("COMMIT\0", 7)) != std::string_view::npos;
        if (commits && cut_ == Cut::before_commit) {
          cut_ = Cut::never;
          return;
        }
        const int other = one.fd == client ? server : client;
        if (write(other, text.data(), text.size()) != size) return;
        if (commits && cut_ == Cut::after_commit) {
          readable(server);
          cut_ = Cut::never;
          return;
        }
      }
    }
  }

  int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> over_ = false;
  std::atomic<Cut> cut_ = Cut::never;
  std::thread thread_;
};

}  // namespace tandem::store
