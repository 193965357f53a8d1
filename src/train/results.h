// SPDX-License-Identifier: MIT
// What became of members, as a part of a saved state.
#pragma once

#include <cstdint>
#include <vector>

#include "base/state_stream.h"
#include "train/trainer.h"

namespace tandem::train {

/// Without their ids and settings, which whoever loads them knows.
void save_results(StateWriter& writer, const std::vector<Member>& members);
/// Throws StateError for more points than one a so many epochs and one of the start.
void load_results(StateReader& reader, std::vector<Member>& members, std::uint64_t epochs);

}  // namespace tandem::train
