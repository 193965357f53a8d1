// SPDX-License-Identifier: MIT
// The dashboard's server: the front end, what the stores hold, and a stream of what changes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tandem::serve {

struct ServerOptions {
  std::vector<std::filesystem::path> stores;
  std::string host = "127.0.0.1";  // the address that it listens on
  int port = 8127;                 // 0: any that is free
  std::string token = {};          // empty: none is asked for, and the Host header is checked
};

class Server {
 public:
  /// Listens from now on, answers from run() on. Throws std::runtime_error where it cannot listen.
  explicit Server(const ServerOptions& options);
  ~Server();
  int port() const;
  /// Answers until stop(), which any other thread may call, and returns when it was. Once.
  void run();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::serve
