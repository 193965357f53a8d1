// SPDX-License-Identifier: MIT
// A store in a PostgreSQL database, in its schema "tandem".
//
// Statements are sent one at a time with their parameters and rely on nothing that a session keeps
// beyond a transaction, so that a pooler may give each transaction another session: pgbouncer in
// transaction mode. Who loses the connection connects again, for as long as an hour where it writes,
// and does its transaction once more; the calls of a store know their own writes.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "store/connection.h"
#include "store/libpq.h"
#include "store/store.h"

namespace tandem::store {

class PostgresConnection final : public Connection {
 public:
  PostgresConnection(std::string url, Store::Mode mode);
  ~PostgresConnection() override;

  std::string name() const override { return url_; }
  std::string identity() override { return "server " + uid_; }
  Statement& prepare(std::string_view sql) override;
  std::size_t insert(const Rows& rows, const std::string& unless_there) override;
  void begin_reading() override;
  void begin_writing(Durability durability) override;
  void commit() override;
  void rollback() noexcept override;
  bool recover(const TryAgain& error, int attempt) override;
  void while_waiting(const std::function<void()>& ask) override { waiting_ = ask; }
  std::filesystem::path rescue() override;

 private:
  class Sent;
  struct Close {
    void operator()(Libpq::Connection* connection) const { libpq().finish(connection); }
  };
  struct Clear {
    void operator()(Libpq::Result* result) const { libpq().clear(result); }
  };
  using Result = std::unique_ptr<Libpq::Result, Clear>;

  /// What is wrong, or nothing.
  std::string connect();
  std::string connect_and_look();
  void reconnect(const std::string& why);
  void check_server();
  void open();
  /// The version of the tables; 0: there are none.
  int find_version();
  void make_tables(int from);
  void require_rights();
  Result execute(std::string_view sql, const std::vector<Value>& values = {});
  template <typename Values>
  Result send(const std::string& sql, const Values& encoded);
  [[noreturn]] void fail(const Libpq::Result* result);

  std::string url_;
  Store::Mode mode_;
  std::string uid_;  // of the store, when it was opened
  bool lost_ = false;
  std::function<void()> waiting_ = [] {};
  std::unique_ptr<Libpq::Connection, Close> connection_;
  std::map<std::string, std::unique_ptr<Sent>, std::less<>> statements_;
};

}  // namespace tandem::store
