// SPDX-License-Identifier: MIT
// A study as the front end reads it; web/src/model.ts says what is in it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "study/comparison.h"
#include "study/results.h"
#include "train/trainer.h"

namespace tandem::report {

/// `rows` are compare(study). Losses have seven digits: more than a figure shows.
nlohmann::ordered_json web_study(const study::StudyRuns& study,
                                 const std::vector<study::Row>& rows);

/// Points as columns; those without a figure are left out.
nlohmann::ordered_json web_points(const std::vector<train::Point>& points);

}  // namespace tandem::report
