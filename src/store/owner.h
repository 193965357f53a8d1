// SPDX-License-Identifier: MIT
// Who holds a lease, and whether that process is still there.
#pragma once

#include <string>

namespace tandem::store {

/// True if `owner` names a process of this machine (HOST:PID:START, as this_owner() writes it; a
/// suffix after a further ':' is allowed) that is no more. Another machine's may live.
bool is_gone(const std::string& owner);

}  // namespace tandem::store
