// SPDX-License-Identifier: MIT
// The tables of a store in SQLite, as the list of steps that lead to them from an empty file.
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>

namespace tandem::store {

/// "Tndm": tells our files from other SQLite files.
inline constexpr std::int32_t kApplicationId = 0x546e646d;

/// Brings a file of an older version (0: empty) up to date; part of the caller's transaction. The
/// version is kept in `PRAGMA user_version`.
void migrate(SQLite::Database& database, int from);

}  // namespace tandem::store
