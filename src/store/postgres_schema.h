// SPDX-License-Identifier: MIT
// The tables of a store in PostgreSQL, as the list of steps that lead to them.
#pragma once

#include <string>
#include <vector>

namespace tandem::store {

/// The statements that bring the schema "tandem" of an older version (0: empty) up to date. The version is
/// kept in the table "store".
std::vector<std::string> postgres_migration(int from);

}  // namespace tandem::store
