// SPDX-License-Identifier: MIT
#include "serve/listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <stdexcept>

namespace tandem::serve {
namespace {

// Clients that come at the same moment wait here until they are accepted.
constexpr int kWaiting = 1024;

int port_of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::optional<Listening> try_listening(const addrinfo& address) {
  const int found = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           address.ai_protocol);
  if (found < 0) return std::nullopt;
  // A port can be taken again at once after a restart. Not SO_REUSEPORT, with which two servers
  // would share a port in silence.
  const int yes = 1;
  setsockopt(found, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(found, address.ai_addr, address.ai_addrlen) != 0 || listen(found, kWaiting) != 0) {
    close(found);
    return std::nullopt;
  }
  return Listening{.socket = found, .port = port_of(found)};
}

}  // namespace

Listening listen_on(const std::string& host, int port) {
  addrinfo wanted = {};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &first) == 0) {
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(first, &freeaddrinfo);
    for (const addrinfo* address = first; address != nullptr; address = address->ai_next) {
      if (const auto listening = try_listening(*address)) return *listening;
    }
  }
  throw std::runtime_error(
      fmt::format("cannot listen on {} port {}: the port is taken, or the address is not this "
                  "machine's; --port 0 takes one that is free",
                  host, port));
}

}  // namespace tandem::serve
