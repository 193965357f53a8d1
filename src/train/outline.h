// SPDX-License-Identifier: MIT
// The few points of a run that say how it ended.
#pragma once

#include <span>
#include <vector>

#include "train/point.h"

namespace tandem::train {

/// For each point whether it is one of these: the first and the last, those with the least training
/// loss after the start, with and without lambda's part, and the first of either that is not
/// finite. What a comparison says of a run follows from them; at most six, whatever its length.
std::vector<bool> outline(std::span<const Point> points);

}  // namespace tandem::train
