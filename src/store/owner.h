// SPDX-License-Identifier: MIT
// Who holds a lease, and whether that process is still there.
#pragma once

#include <string>

namespace tandem::store {

/// True if `owner` names a process of this machine that is no more: HOST:PID:START-MACHINE, as
/// this_owner() writes it, or without what tells machines of one name apart; a suffix after a
/// further ':' is allowed. Another machine's may live.
bool is_gone(const std::string& owner);

}  // namespace tandem::store
