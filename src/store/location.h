// SPDX-License-Identifier: MIT
// Where a store is, as `--store` says it: the path of a file, or the URL of a PostgreSQL database.
#pragma once

#include <string>

namespace tandem::store {

/// Whether it is a URL of PostgreSQL; false for a file. Throws StoreError for other URLs, and for
/// one that has a password in it, which the message does not show.
bool is_postgres(const std::string& location);

/// The name of the file without its folder, or the URL: what others would write.
std::string short_name(const std::string& location);

}  // namespace tandem::store
