// SPDX-License-Identifier: MIT
// A store in a file, kept by SQLite.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "store/connection.h"
#include "store/store.h"

namespace tandem::store {

/// SQLite's error as one that names the file, what is wrong and what to do.
StoreError explain(const std::filesystem::path& path, const SQLite::Exception& error);

class SqliteConnection final : public Connection {
 public:
  SqliteConnection(std::filesystem::path path, Store::Mode mode);
  ~SqliteConnection() override;

  std::string name() const override { return path_.string(); }
  std::string identity() override;
  bool is_copy() const override { return copy_; }
  Statement& prepare(std::string_view sql) override;
  std::size_t insert(const Rows& rows, const std::string& unless_there) override;
  void begin_reading() override;
  void begin_writing(Durability durability) override;
  void commit() override;
  void rollback() noexcept override;
  std::filesystem::path rescue() override;

  SQLite::Database& database() { return *database_; }

 private:
  class Prepared;
  bool moved() const;

  std::filesystem::path path_;
  Store::Mode mode_;
  bool copy_ = false;
  Durability durability_ = Durability::survives_power_cut;
  std::unique_ptr<SQLite::Database> database_;
  // By their text; they go before their database.
  std::map<std::string, std::unique_ptr<Prepared>, std::less<>> statements_;
};

}  // namespace tandem::store
