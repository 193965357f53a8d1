// SPDX-License-Identifier: MIT
// A study as the store has it, for those who work on it without its file.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"
#include "study/study_file.h"
#include "study/study_plan.h"

namespace tandem::study {

/// What a task's row says beside its columns (store::Task::facts): what the recipe did, and how the
/// task is trained.
std::string task_facts(const PlannedTask& task);

/// What was planned. Throws store::StoreError where the rows do not say all of it: an older version
/// wrote them, or they are damaged.
StudySpec stored_study(const store::Study& study, const std::vector<store::Task>& tasks);

/// Throws store::StoreError where the study is of another CPU target than this process.
void require_target(const store::Study& study);

}  // namespace tandem::study
