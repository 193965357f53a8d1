// SPDX-License-Identifier: MIT
// `tandem study`: a whole comparison from one file.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/bytes_text.h"
#include "base/interrupt.h"
#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/values.h"
#include "report/study_report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "store/location.h"
#include "store/store.h"
#include "study/any_study.h"
#include "study/comparison.h"
#include "study/load.h"
#include "study/runner.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::filesystem::path file;
  std::filesystem::path store = "tandem.db";
  std::filesystem::path data_dir;
  std::size_t memory = 0;  // MiB
  bool dry_run = false;
  bool add = false;
  std::string part;
  bool worker = false;
  bool wait = false;
  int lease = 600;  // seconds
};

study::RunOptions run_options(const Options& options) {
  study::RunOptions run{.data_dir = options.data_dir,
                        .memory = options.memory << 20,
                        .command = fmt::format("tandem study {} --store {}",
                                               shell_word(options.file.filename().string()),
                                               shell_word(store::short_name(options.store))),
                        .lease_seconds = options.lease};
  if (!options.part.empty()) run.part = study::parse_part(options.part);
  return run;
}

void show_plan(const study::Runner& runner, double seconds, const Common& common) {
  const study::StudySpec& study = runner.study();
  const study::StudyPlan& plan = runner.plan();
  if (common.json) {
    Json tasks = Json::array();
    for (const study::PlannedTask& task : plan.tasks) {
      tasks.push_back({{"task", study::task_name(task.spec)},
                       {"samples", task.samples},
                       {"dimension", task.dimension},
                       {"data_hash", task.data_hash},
                       {"notes", task.notes}});
    }
    write_json(Json{{"event", "plan"},
                    {"study", study.name},
                    {"tasks", tasks},
                    {"members", plan.members},
                    {"runs", plan.runs},
                    {"units", plan.units},
                    {"waves", plan.waves},
                    {"bytes", plan.peak_bytes},
                    {"prune", study.prune},
                    {"seconds", seconds}});
    return;
  }
  if (common.quiet) return;
  using Align = report::Table::Align;
  report::Table tasks({{"task"}, {"samples", Align::right}, {"weights", Align::right}, {"data"}});
  for (const study::PlannedTask& task : plan.tasks) {
    tasks.add({study::task_name(task.spec), std::to_string(task.samples),
               std::to_string(task.dimension), task.data_hash});
    if (!common.verbose) continue;
    for (const std::string& note : task.notes) print_message("{}\n", note);
  }
  report::Table optimizers({{"optimizer"}, {"settings", Align::right}, {"grid"}});
  for (const study::OptimizerSpec& optimizer : study.optimizers) {
    std::string grid;
    for (const auto& [name, values] : optimizer.grid) {
      grid += fmt::format("{}{} {}", grid.empty() ? "" : "; ", name, fmt::join(values, " "));
    }
    optimizers.add({optimizer.label + (optimizer.baseline ? " (baseline)" : ""),
                    std::to_string(study::expand(optimizer.method, optimizer.grid).size()), grid});
  }
  const std::size_t width = report::terminal_width(STDERR_FILENO);
  print_message("{}\n{}\n", tasks.terminal(width), optimizers.terminal(width));
  print_note(fmt::format(
      "{}: {} members and then {} runs of {}, {} epochs each; {} units of work, {} waves of "
      "at most {}; about {} if none diverges",
      study.name, plan.members, plan.runs,
      study.measure_all ? "the same on the other seeds" : "the best", study.epochs, plan.units,
      plan.waves, bytes_text(plan.peak_bytes), duration_text(seconds)));
  if (study.prune != 0) {
    print_message("grids are pruned by successive halving: one in {} stays\n", study.prune);
  }
}

void show_result(const store::Store& store, const study::Runner& runner, const Options& options,
                 const Common& common) {
  const study::StudyRuns runs = study::load_study(store, runner.study().name);
  const std::vector<study::Row> rows = study::compare(runs);
  const study::Timing& timing = runner.timing();
  const double outside =
      timing.all - timing.training - timing.loading - timing.optimum - timing.waiting;
  if (common.json) {
    for (const study::Row& row : rows) write_json(study::to_json(row));
    write_json(Json{{"event", "done"},
                    {"study", runs.name},
                    {"seconds", timing.all},
                    {"training", timing.training},
                    {"store", timing.store},
                    {"loading", timing.loading},
                    {"optimum", timing.optimum},
                    {"waiting", timing.waiting},
                    {"member_epochs", timing.member_epochs}});
    return;
  }
  write_result(report::comparison_table(rows, runs.tasks.size() > 1).terminal());
  if (common.quiet) return;
  print_note(report::explanation(runs, rows));
  if (timing.member_epochs > 0) {
    print_note(fmt::format(
        "{} here: {:.0f} member-epochs, {:.0f} a second of training and evaluation; {:.2f} % "
        "of the time in the store, {:.2f} % in all outside training and evaluation",
        duration_text(timing.all), timing.member_epochs, timing.member_epochs / timing.training,
        100 * timing.store / timing.all, 100 * outside / timing.all));
  }
  print_message("tandem report --store {} --study {} --html report.html makes a page of it\n",
                shell_word(options.store.string()), shell_word(runs.name));
}

void show_part(const store::Store& store, const study::Runner& runner, const Options& options,
               const Common& common) {
  if (common.quiet || common.json) return;
  const store::Study study = study::find_study(store, runner.study().name);
  const store::Progress progress = store.progress(study.id);
  print_note(fmt::format(
      "part {} is done: {} of the study's {} units are in {}; when all parts are, `tandem runs "
      "merge` puts their stores together",
      options.part, progress.done, progress.units, options.store.string()));
}

/// Shows how far the work is, and stops it at Ctrl-C.
class Watch {
 public:
  explicit Watch(const Common& common) : progress_(!common.quiet) { catch_interrupts(); }

  /// To be called between steps; false if the work is to stop.
  bool operator()(const study::Status& status) {
    const double rate = status.seconds > 0 ? status.member_epochs / status.seconds : 0;
    progress_.show(
        status.part,
        status.units == 0
            ? status.doing
            : fmt::format("unit {} of {}, {}, {} members, {:.0f} member-epochs/s; best: {}",
                          status.units_done + 1, status.units, status.doing, status.alive, rate,
                          status.best));
    return !interrupted();
  }
  void clear() { progress_.clear(); }

 private:
  Progress progress_;
};

int say_interrupted(const Options& options) {
  print_message(
      "tandem: interrupted; completed work is saved in {}; run the same command to resume\n",
      options.store.string());
  return kInterrupted;
}

int run_study(const Options& options, const Common& common) {
  study::Runner runner(study::read_study(options.file), run_options(options));
  if (options.dry_run) {
    show_plan(runner, runner.estimate_seconds(), common);
    return kDone;
  }
  store::Store store = store::Store::open(options.store, store::Store::Mode::write);
  show_plan(runner, runner.estimate_seconds(), common);
  if (options.add) {
    runner.add(store);
    return kDone;
  }
  Watch watch(common);
  const bool done = runner.run(store, [&](const study::Status& status) { return watch(status); });
  watch.clear();
  if (!done) return say_interrupted(options);
  if (!options.part.empty()) show_part(store, runner, options, common);
  show_result(store, runner, options, common);
  return kDone;
}

int run_worker(const Options& options, const Common& common) {
  // A store that somebody named wrongly is not made; who waits for studies may be there first.
  if (!options.wait &&
      store::Store::open(options.store, store::Store::Mode::read).studies().empty()) {
    print_message("tandem: {} has no studies; `tandem study FILE --add` puts one there\n",
                  options.store.string());
    return kFailed;
  }
  store::Store store = store::Store::open(options.store, store::Store::Mode::write);
  Watch watch(common);
  study::AnyStudy worker(store, run_options(options), options.wait, [&](const std::string& text) {
    watch.clear();
    print_message("tandem: {}\n", text);
  });
  const bool done = worker.run([&](const study::Status& status) { return watch(status); });
  watch.clear();
  if (!done) return say_interrupted(options);
  if (worker.refused() == 0) return kDone;
  print_message("tandem: {} of the studies in {} could not be worked on here\n", worker.refused(),
                options.store.string());
  return kData;
}

int run_chosen(const Options& options, const Common& common) {
  const auto refuse = [](bool given, const char* one, const char* other) {
    if (given) throw std::invalid_argument(fmt::format("{} does not go with {}", one, other));
  };
  if (!options.worker) {
    if (options.file.empty()) {
      throw std::invalid_argument("FILE is missing: a study, or --worker for those of the store");
    }
    refuse(options.wait, "--wait", "a study file: it is for --worker");
    refuse(options.add && !options.part.empty(), "--add", "--part");
    return run_study(options, common);
  }
  refuse(!options.file.empty(), "--worker", "a study file: its studies are the store's");
  refuse(!options.part.empty(), "--worker", "--part");
  refuse(options.dry_run, "--worker", "--dry-run");
  refuse(options.add, "--worker", "--add");
  return run_worker(options, common);
}

}  // namespace

void add_study(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("study",
                         "Example: tandem study studies/examples/kdd.toml --store kdd.db\n\n"
                         "A whole comparison: tasks x optimizers x grid x seeds. Killed at any "
                         "moment, the same command "
                         "goes on; started twice, the two share the work.");
  command->add_option("FILE", options->file, "The study, in TOML; with --worker none");
  command->add_option("--store", options->store, kStoreHelp)->capture_default_str();
  command->add_option("--data-dir", options->data_dir,
                      "Folder of data sets; searched before TANDEM_DATA and the system's folder");
  command
      ->add_option("--memory", options->memory,
                   "MiB for a wave of members; 0 is three quarters of what is free")
      ->check(whole(0, kMostMemory))
      ->capture_default_str();
  command->add_flag("--dry-run", options->dry_run, "Only the plan");
  command->add_flag("--add", options->add,
                    "Only plan the study and add it to the store, for workers");
  command->add_flag("--worker", options->worker,
                    "Work on every study of the store until none has units left");
  command->add_flag("--wait", options->wait, "A worker waits for studies that are to come");
  command->add_option("--part", options->part,
                      "I/N: only the I-th of N parts, for machines without a store in common; "
                      "`tandem runs merge` puts their stores together");
  command
      ->add_option("--lease", options->lease,
                   "Seconds after which others may take the unit of a process that is silent")
      ->check(whole(1, 1'000'000))
      ->capture_default_str();
  command->callback([options, &common, &job] {
    job = [options, &common] { return run_chosen(*options, common); };
  });
}

}  // namespace tandem::cli
