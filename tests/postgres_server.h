// SPDX-License-Identifier: MIT
// For tests: a PostgreSQL server and a pgbouncer of their own, on loopback, in a temporary folder,
// as a user that may (the server refuses root); gone with their owner.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/temp_folder.h"

namespace tandem::tests {

/// A program that runs until it is told to end; dies with this process.
class Daemon {
 public:
  Daemon() = default;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() { end(9); }
  /// As nobody where this process is root's; output goes to the file.
  void start(const std::vector<std::string>& command, const std::filesystem::path& log);
  /// Sends the signal and waits for its end.
  void end(int signal);
  bool runs() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class PostgresServer {
 public:
  /// Why there is none here; empty if there can be one.
  static std::string missing();
  /// One for all tests of this process, which is started when it is wanted first.
  static PostgresServer& shared();

  PostgresServer();

  void start();
  /// As after a power cut: open connections are cut, nothing is tidied up.
  void crash() { daemon_.end(3); }
  void stop() { daemon_.end(2); }

  int port() const { return port_; }
  /// For a store in the database "runs", by the role "postgres" or another one.
  std::string url(const std::string& user = "postgres", int port = 0) const;
  /// Runs SQL as postgres; what it gives, a line a row.
  std::string sql(const std::string& text, const std::string& database = "runs") const;
  /// From now on the database, "runs" or "other", has no store; ends all connections to it.
  void clear(const std::string& database = "runs") const;
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TempFolder folder_;
  int port_ = 0;
  Daemon daemon_;
};

/// In front of a server, in transaction mode.
class Pgbouncer {
 public:
  static std::string missing();
  explicit Pgbouncer(const PostgresServer& server);
  void start();
  void stop() { daemon_.end(9); }
  int port() const { return port_; }
  std::string url() const { return server_.url("postgres", port_); }

 private:
  const PostgresServer& server_;
  TempFolder folder_;
  int port_ = 0;
  Daemon daemon_;
};

}  // namespace tandem::tests
