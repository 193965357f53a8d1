// SPDX-License-Identifier: MIT
#include "export/tensorboard.h"

#include <fmt/format.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "export/event.h"
#include "export/event_file.h"
#include "export/folder_name.h"
#include "export/hparams.h"
#include "export/run_events.h"
#include "report/escape.h"

namespace tandem::exporting {
namespace {

namespace fs = std::filesystem;

/// Not the host's: the same runs give the same files wherever they are exported.
constexpr std::string_view kHost = "tandem";

HParams hparams_of(const RunRef& run) {
  const bool tuned = run.member.phase == store::Phase::tune;
  HParams hparams{{"study", run.study.name},
                  {"data", run.task.data},
                  {"model", run.task.model},
                  {"lambda", run.task.lambda},
                  {"batch", static_cast<double>(run.task.batch)},
                  {"optimizer", run.member.optimizer},
                  {"phase", tuned ? "tune" : "measure"},
                  {"seed", static_cast<double>(run.member.seed)}};
  add_options(hparams, run.member.options);
  return hparams;
}

/// A block of code: TensorBoard takes texts for Markdown.
std::string code_block(const std::string& text) {
  std::istringstream stream(report::clean_text(text));
  std::string block;
  for (std::string line; std::getline(stream, line);) block += "    " + line + "\n";
  return block;
}

std::string study_records(const store::Study& study, const Experiment& experiment) {
  const auto began = static_cast<double>(study.created);
  Event event(began, 0);
  event.text("study/file", code_block(study.text));
  event.text("study/command", code_block(study.command));
  event.text("study/machine", code_block(study.machine + "\nCPU target " + study.target));
  event.text("study/version", code_block("tandem " + study.version));
  experiment.write(event, metrics());
  return version_record(began) + event.record();
}

std::string run_records(const RunRef& run) {
  const auto began = static_cast<double>(run.study.created);
  const std::vector<train::Point>& points = run.member.points;
  std::string records = version_record(began);
  Event first(began, 0);
  write_session_start(first, hparams_of(run), began);
  records += first.record();
  for (const train::Point& point : points) {
    Event event(began + point.seconds, static_cast<std::int64_t>(point.step));
    write_point(event, point, run.task.optimum);
    if (!event.empty()) records += event.record();
  }
  const double end = points.empty() ? began : began + points.back().seconds;
  Event last(end, points.empty() ? 0 : static_cast<std::int64_t>(points.back().step));
  write_end(last, points, run.member.diverged, run.task.optimum, end);
  return records + last.record();
}

fs::path folder_of(const fs::path& folder, const RunRef& run) {
  const std::string name = run.member.phase == store::Phase::tune
                               ? fmt::format("setting-{}", run.member.id)
                               : fmt::format("seed-{}", run.member.seed);
  return folder / folder_name(run.study.name) / folder_name(run.task.key) /
         folder_name(run.member.optimizer) / name;
}

}  // namespace

Exported export_tensorboard(const store::Store& store, const Selection& selection,
                            const fs::path& folder) {
  // TensorBoard shows what the first experiment that it meets names: each names all.
  Experiment experiment;
  for_each_run(store, selection, Points::without,
               [&](const RunRef& run) { experiment.add(hparams_of(run)); });
  Exported exported;
  const auto write = [&](const fs::path& path, const std::string& records) {
    write_event_file(path, records);
    exported.bytes += records.size();
  };
  for (const store::Study& study : selection.studies) {
    write(folder / folder_name(study.name) / event_file_name(study.created, kHost, "study"),
          study_records(study, experiment));
  }
  std::set<fs::path> taken;
  for_each_run(store, selection, Points::with, [&](const RunRef& run) {
    fs::path path = folder_of(folder, run);
    // A setting that was measured twice on a seed, which no study asks for, stays two runs.
    if (!taken.insert(path).second) path += fmt::format("-{}", run.member.id);
    write(path / event_file_name(run.study.created, kHost, "run"), run_records(run));
    ++exported.runs;
    exported.points += run.member.points.size();
  });
  return exported;
}

}  // namespace tandem::exporting
