// SPDX-License-Identifier: MIT
// The socket that the server listens on.
#pragma once

#include <string>

namespace tandem::serve {

/// A socket that listens, and its port. It belongs to whoever asked for it.
struct Listening {
  int socket = -1;
  int port = 0;
};

/// Takes the first address of the host that can be listened on; port 0 is any that is free. Throws
/// std::runtime_error where there is none. Two servers never share a port.
Listening listen_on(const std::string& host, int port);

}  // namespace tandem::serve
