// SPDX-License-Identifier: MIT
// A run as TensorBoard's events: an event a point, with what stands at its beginning and its end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/event.h"
#include "export/hparams.h"
#include "train/trainer.h"

namespace tandem::exporting {

/// What the tab HPARAMS shows of a run beside its hyper-parameters: tags and names.
const std::vector<std::pair<std::string_view, std::string_view>>& metrics();

/// The scalars of a point; those that were not measured are left out.
void write_point(Event& event, const train::Point& point, std::optional<double> optimum);

/// How a run ended: the least loss of its epochs and the gap there, unless it diverged.
void write_end(Event& event, std::span<const train::Point> points, bool diverged,
               std::optional<double> optimum, double seconds);

}  // namespace tandem::exporting
