// SPDX-License-Identifier: MIT
#include "cli/paper_study.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/interrupt.h"
#include "base/shell_word.h"
#include "base/suggest.h"
#include "cli/output.h"
#include "cli/task_options.h"
#include "study/builtin.h"
#include "study/load.h"

namespace tandem::cli {

std::string command_text(const PaperOptions& options, const Common& common) {
  std::string text = fmt::format("tandem paper {} --budget {}", options.name, options.budget);
  if (options.start != "normal") text += " --start " + options.start;
  if (options.loss != "cross-entropy") text += " --loss " + options.loss;
  if (options.report_loss != "total") text += " --report-loss " + options.report_loss;
  for (const std::string& data : options.data) text += " --data " + shell_word(data);
  for (const std::string& option : options.data_options) {
    text += " --data-option " + shell_word(option);
  }
  if (options.epochs != 0) text += fmt::format(" --epochs {}", options.epochs);
  if (common.seed != Common{}.seed) text += fmt::format(" --seed {}", common.seed);
  return text;
}

std::string page_name(const PaperOptions& options) {
  std::string name = options.name;
  for (const std::string& data : options.data) name += "-" + data;
  if (options.start != "normal") name += "-" + options.start;
  if (options.loss != "cross-entropy") name += "-" + options.loss;
  for (const std::string& text : options.data_options) {
    const auto [option, value] = name_and_value("--data-option", text);
    name += fmt::format("-{}-{}", option, value);
  }
  if (options.epochs != 0) name += fmt::format("-{}-epochs", options.epochs);
  if (options.report_loss != "total") name += "-" + options.report_loss + "-loss";
  if (options.budget == "quick") name += "-quick";
  return name;
}

std::vector<study::StudySpec> wanted_studies(const paper::PaperExperiment& experiment,
                                             const PaperOptions& options) {
  std::vector<study::StudySpec> specs;
  std::vector<std::string> known;
  for (const std::string& path : experiment.studies) {
    study::StudySpec spec =
        study::parse_study(study::builtin_study(path), std::filesystem::path(path).filename());
    const std::string data = spec.tasks.front().data;
    known.push_back(data);
    const auto& only = options.data;
    if (!only.empty() && std::find(only.begin(), only.end(), data) == only.end()) continue;
    if (options.start == "zeros") spec = paper::from_zeros(std::move(spec));
    spec = paper::with_loss(std::move(spec), problems::parse_loss(options.loss));
    for (const std::string& text : options.data_options) {
      const auto [name, value] = name_and_value("--data-option", text);
      spec = paper::with_data_option(std::move(spec), name, value);
    }
    if (options.budget == "quick") spec = paper::quick(std::move(spec));
    if (options.epochs != 0) spec = paper::with_epochs(std::move(spec), options.epochs);
    specs.push_back(std::move(spec));
  }
  for (const std::string& data : options.data) {
    if (std::find(known.begin(), known.end(), data) != known.end()) continue;
    throw std::invalid_argument(fmt::format("Invalid --data: {} has no data set '{}'{}",
                                            experiment.name, data, suggestion(data, known)));
  }
  return specs;
}

void make_out_folder(const std::filesystem::path& out) {
  if (out.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (!error && std::filesystem::is_directory(out)) return;
  throw std::invalid_argument(fmt::format("--out: cannot make the folder {}: {}", out.string(),
                                          error ? error.message() : "it is a file"));
}

void refuse_options_beside(const CLI::App& paper, const std::string& name) {
  for (const CLI::Option* option : paper.get_options()) {
    const std::string found = option->get_name();
    if (option->count() == 0 || found == "--budget" || found == "--data-dir") continue;
    if (option->get_positional()) {
      throw std::invalid_argument(fmt::format("Found '{}' beside {}; expected one experiment",
                                              option->as<std::string>(), name));
    }
    throw std::invalid_argument(fmt::format(
        "{0} is not an option of {1}; tandem paper {1} --help lists them", found, name));
  }
}

void say(Progress& progress, const Common& common, const std::string& text) {
  progress.clear();
  if (!common.quiet && !common.json) print_note(text);
}

std::optional<study::StudyRuns> run_paper_study(study::StudySpec spec,
                                                const study::RunOptions& options,
                                                store::Store& store, Progress& progress,
                                                const Common& common, study::ReportLoss loss) {
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
    print_message(
        "tandem: interrupted; completed work is saved in {}; run the same command to resume\n",
        store.name());
    return std::nullopt;
  }
  const study::Timing& timing = runner.timing();
  if (timing.member_epochs > 0) {
    say(progress, common,
        fmt::format("{}: {}, {:.3g} member-epochs a second with evaluation, {:.1f} % of the time "
                    "outside training, {:.2f} % in the store",
                    name, duration_text(timing.all), timing.member_epochs / timing.training,
                    100 * (1 - timing.training / timing.all), 100 * timing.store / timing.all));
  }
  return study::load_study(store, name, loss, store::Curves::all);
}

}  // namespace tandem::cli
