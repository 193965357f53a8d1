// SPDX-License-Identifier: MIT
// The runs of studies out of a store, one after another. At most those of one optimizer on one task
// are in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "store/store.h"

namespace tandem::exporting {

struct Selection {
  std::vector<store::Study> studies;
  bool grid = false;  // every setting of the tuning seed too
};

/// A run, with its points where they are asked for. What is referred to lives as long as the call.
struct RunRef {
  const store::Study& study;
  const store::Task& task;
  const store::MemberRow& member;
};

enum class Points { with, without };

/// A task after another, with a grid an optimizer after another, in the order of the study.
void for_each_run(const store::Store& store, const Selection& selection, Points points,
                  const std::function<void(const RunRef&)>& visit);

}  // namespace tandem::exporting
