// SPDX-License-Identifier: MIT
// The figures of a task of a study, from its runs. Curves are means over the measured seeds with a
// band from the smallest to the largest; diverged runs are left out and named in the caption.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/figure.h"
#include "study/results.h"

namespace tandem::report {

/// The expected best of n settings drawn from an optimizer's grid.
struct BestOfN {
  std::string label;  // of the optimizer
  std::vector<double> n, expected;
};

/// "mnist, logistic, λ = 0.01": what titles say.
std::string task_title(const study::TaskRuns& task);

Figure loss_figure(const study::TaskRuns& task);
/// Nothing where nothing was held out.
std::optional<Figure> validation_figure(const study::TaskRuns& task);
/// (F - min) / (max - min) over all optimizers, without the start, which is the same for all.
Figure standardised_figure(const study::TaskRuns& task);
/// Nothing where no optimizer has two seeds.
std::optional<Figure> deviation_figure(const study::TaskRuns& task);
/// F - F*; nothing where the optimum is not known.
std::optional<Figure> gap_figure(const study::TaskRuns& task);
Figure evaluations_figure(const study::TaskRuns& task);
Figure seconds_figure(const study::TaskRuns& task);
/// |G - grad F|^2 / |g - grad F|^2; nothing where it was not measured.
std::optional<Figure> estimator_figure(const study::TaskRuns& task);
/// As gaps where the optimum is known; nothing without curves.
std::optional<Figure> best_of_figure(const study::TaskRuns& task, const std::vector<BestOfN>& best);

/// All of those that there is something for, in the order of a report.
std::vector<Figure> task_figures(const study::TaskRuns& task,
                                 const std::vector<BestOfN>& best = {});

}  // namespace tandem::report
