// SPDX-License-Identifier: MIT
// About how long a study takes, from a few steps of each optimizer.
#pragma once

#include <tandem/executor.h>

#include <memory>

#include "study/study_plan.h"

namespace tandem::study {

/// When no member diverges. Tasks that differ in lambda alone are measured once.
double estimate_seconds(const StudySpec& study, const StudyPlan& plan, TaskLoader& loader,
                        const std::shared_ptr<Executor>& executor);

}  // namespace tandem::study
