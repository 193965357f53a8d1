// SPDX-License-Identifier: MIT
// How a study trains: what the trainer is told, and a setting's options in full.
#pragma once

#include <cstdint>

#include "study/study_file.h"
#include "train/trainer.h"

namespace tandem::study {

train::TrainOptions train_options(const StudySpec& study, const TaskSpec& task, std::uint64_t seed);

/// Every option of the setting: those it does not name have their default value.
OptionMap resolved_options(const train::Setting& setting);

}  // namespace tandem::study
