// SPDX-License-Identifier: MIT
// A study's runs out of the store.
#pragma once

#include <string>

#include "store/store.h"
#include "study/results.h"

namespace tandem::study {

/// Throws std::invalid_argument for a study that the store does not have, with a suggestion.
///
/// With ReportLoss::data the loss without lambda's part stands in the place of the training loss,
/// everywhere, and chooses among settings. Throws std::invalid_argument for a study of a version
/// that did not keep it.
///
/// Of runs that tuned come their outlines (train/outline.h), unless all curves are asked for: a
/// report needs no more, and a study may have ten million points.
StudyRuns load_study(const store::Store& store, const std::string& name,
                     ReportLoss loss = ReportLoss::total,
                     store::Curves curves = store::Curves::measured);

/// Likewise, but only what is stored of the study itself.
store::Study find_study(const store::Store& store, const std::string& name);

}  // namespace tandem::study
