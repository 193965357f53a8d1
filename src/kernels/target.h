// SPDX-License-Identifier: MIT
// What is asked of a user's choice of a CPU target.
#pragma once

#include <string>
#include <vector>

namespace tandem::kernels {

/// Throws std::invalid_argument for a name that is none of those `known`, with the nearest one, and
/// for one that is none of those that this CPU `runs`, with all of them.
void check_target(const std::string& name, const std::vector<std::string>& known,
                  const std::vector<std::string>& runs);

}  // namespace tandem::kernels
