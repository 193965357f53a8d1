// SPDX-License-Identifier: MIT
#include "cli/paper_study.h"

#include <fmt/format.h>

#include <utility>

#include "base/interrupt.h"
#include "study/load.h"

namespace tandem::cli {

void say(Progress& progress, const Common& common, const std::string& text) {
  progress.clear();
  if (!common.quiet && !common.json) fmt::print(stderr, "{}\n", text);
}

std::optional<study::StudyRuns> run_paper_study(study::StudySpec spec,
                                                const study::RunOptions& options,
                                                store::Store& store, Progress& progress,
                                                const Common& common) {
  const std::string name = spec.name;
  study::Runner runner(std::move(spec), options);
  say(progress, common,
      fmt::format("{}: {} members on {} tasks, {} epochs each", name, runner.plan().members,
                  runner.plan().tasks.size(), runner.study().epochs));
  const bool done = runner.run(store, [&](const study::Status& status) {
    if (progress.due()) {
      progress.show(status.part, fmt::format("{}: {}; best: {}", name, status.doing, status.best));
    }
    return !interrupted();
  });
  progress.clear();
  if (!done) {
    fmt::print(stderr, "tandem: interrupted; the same command goes on from {}\n",
               store.path().string());
    return std::nullopt;
  }
  const study::Timing& timing = runner.timing();
  if (timing.member_epochs > 0) {
    say(progress, common,
        fmt::format("{}: {}, {:.0f} member-epochs a second with evaluation, {:.1f} % of the time "
                    "outside training, {:.2f} % in the store",
                    name, duration_text(timing.all), timing.member_epochs / timing.training,
                    100 * (1 - timing.training / timing.all), 100 * timing.store / timing.all));
  }
  return study::load_study(store, name);
}

}  // namespace tandem::cli
