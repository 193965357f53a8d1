// SPDX-License-Identifier: MIT
// What a study concludes, as tables, words and a page.
#pragma once

#include <string>
#include <vector>

#include "report/html.h"
#include "report/table.h"
#include "study/comparison.h"
#include "study/results.h"

namespace tandem::report {

/// The rows of one task, or of all where `with_task`.
Table comparison_table(const std::vector<study::Row>& rows, bool with_task);
/// At equal cost: rho at the same number of settings tried, gradient evaluations, seconds.
Table equal_cost_table(const std::vector<study::Row>& rows, bool with_task);

/// The setting that tuning chose, of what its grid varied; ! marks a value at an end of the grid.
std::string setting_text(const study::StudyRuns& study, const study::Row& row);
/// The mean over seeds, empty unless all have one; `format` is fmt's, of a number.
std::string mean_text(const study::PerSeed& values, const char* format);

/// What the columns mean, and what a reader must know: pruned, incomplete, edges.
std::string explanation(const study::StudyRuns& study, const std::vector<study::Row>& rows);
/// Who won where, in words.
std::string summary(const study::StudyRuns& study, const std::vector<study::Row>& rows);

/// The rows of the comparison proper, or those of its ablations.
std::vector<study::Row> part_of_rows(const std::vector<study::Row>& rows, bool ablations);

/// The figures of one task, or of all; ablations are not in them.
std::vector<Figure> study_figures(const study::TaskRuns& task, const std::vector<study::Row>& rows);
std::vector<Figure> study_figures(const study::StudyRuns& study,
                                  const std::vector<study::Row>& rows);
Document study_document(const study::StudyRuns& study, const std::vector<study::Row>& rows);

}  // namespace tandem::report
