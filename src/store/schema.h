// SPDX-License-Identifier: MIT
// The version of a store's tables, which is the same in all databases.
#pragma once

namespace tandem::store {

/// The version this program writes.
inline constexpr int kSchemaVersion = 8;

}  // namespace tandem::store
