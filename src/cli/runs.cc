// SPDX-License-Identifier: MIT
// `tandem runs`: what a store holds; removing and merging it.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/table.h"
#include "report/terminal.h"
#include "store/store.h"
#include "study/load.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Table;
using store::Store;

struct Options {
  std::filesystem::path store = "tandem.db";
  std::string name;
  bool force = false;
  std::vector<std::filesystem::path> others;
};

std::string date(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// ---- list ---------------------------------------------------------------------------------------

int run_list(const Options& options, const Common& common) {
  const Store store = Store::open(options.store, Store::Mode::read);
  Table table({{"study"},
               {"version"},
               {"tasks", Table::Align::right},
               {"units", Table::Align::right},
               {"members", Table::Align::right},
               {"points", Table::Align::right},
               {"created"}});
  const std::vector<store::Study> studies = store.studies();
  for (const store::Study& study : studies) {
    const store::Progress progress = store.progress(study.id);
    const store::Totals totals = store.totals(study.id);
    if (common.json) {
      write_json({{"event", "study"},
                  {"study", study.name},
                  {"version", study.version},
                  {"target", study.target},
                  {"fingerprint", study.fingerprint},
                  {"pruned", study.pruned},
                  {"tasks", totals.tasks},
                  {"units", progress.units},
                  {"done", progress.done},
                  {"leased", progress.leased},
                  {"members", totals.members},
                  {"points", totals.points},
                  {"created", study.created}});
    } else {
      table.add({study.name, study.version, std::to_string(totals.tasks),
                 fmt::format("{}/{}", progress.done, progress.units),
                 std::to_string(totals.members), std::to_string(totals.points),
                 date(study.created)});
    }
  }
  if (common.json) return kDone;
  if (studies.empty()) {
    if (!common.quiet) print_message("{} has no studies\n", options.store.string());
    return kDone;
  }
  write_result(table.terminal());
  return kDone;
}

// ---- show ---------------------------------------------------------------------------------------

struct Best {
  double loss = std::numeric_limits<double>::quiet_NaN();
  const study::Run* run = nullptr;
};

/// The smallest training loss that a member which did not diverge reached at any point.
Best best_of(const study::OptimizerRuns& optimizer) {
  Best best;
  for (const auto* runs : {&optimizer.tuned, &optimizer.measured, &optimizer.others}) {
    for (const study::Run& run : *runs) {
      if (run.diverged) continue;
      for (const train::Point& point : run.points) {
        if (std::isnan(point.train_loss) || best.loss <= point.train_loss) continue;
        best = {.loss = point.train_loss, .run = &run};
      }
    }
  }
  return best;
}

std::size_t diverged(const study::OptimizerRuns& optimizer) {
  const auto count = [](const std::vector<study::Run>& runs) {
    return std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.diverged; });
  };
  return static_cast<std::size_t>(count(optimizer.tuned) + count(optimizer.measured) +
                                  count(optimizer.others));
}

/// Runs on the measured seeds, of whichever setting.
std::size_t measured(const study::OptimizerRuns& optimizer) {
  return optimizer.measured.size() + optimizer.others.size();
}

/// The options that were searched, as the best run has them.
std::string setting(const study::OptimizerRuns& optimizer, const study::Run* run) {
  std::string text;
  if (run == nullptr) return text;
  for (const auto& [name, value] : run->options) {
    if (!optimizer.grid.contains(name)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

void show_json(const study::StudyRuns& runs, const store::Study& study,
               const store::Progress& progress) {
  write_json({{"event", "study"},
              {"study", runs.name},
              {"version", runs.version},
              {"target", study.target},
              {"machine", runs.machine},
              {"fingerprint", study.fingerprint},
              {"created", study.created},
              {"pruned", runs.pruned},
              {"complete", runs.complete},
              {"units", progress.units},
              {"done", progress.done},
              {"leased", progress.leased},
              {"epochs", runs.epochs},
              {"tune_seed", runs.tune_seed},
              {"seeds", runs.seeds},
              {"command", runs.command},
              {"text", runs.text}});
  for (const study::TaskRuns& task : runs.tasks) {
    write_json({{"event", "task"},
                {"data", task.data},
                {"model", task.model},
                {"lambda", task.lambda},
                {"batch", task.batch},
                {"samples", task.samples},
                {"dimension", task.dimension},
                {"optimum", task.optimum ? Json(*task.optimum) : Json()}});
    for (const study::OptimizerRuns& optimizer : task.optimizers) {
      const Best best = best_of(optimizer);
      write_json({{"event", "optimizer"},
                  {"data", task.data},
                  {"model", task.model},
                  {"lambda", task.lambda},
                  {"optimizer", optimizer.label},
                  {"method", optimizer.method},
                  {"baseline", optimizer.baseline},
                  {"tuned", optimizer.tuned.size()},
                  {"measured", measured(optimizer)},
                  {"diverged", diverged(optimizer)},
                  {"grid", optimizer.grid},
                  {"best_loss", best.loss},  // null where there is none
                  {"options", best.run != nullptr ? Json(best.run->options) : Json()}});
    }
  }
}

void show_text(const study::StudyRuns& runs, const store::Study& study,
               const store::Progress& progress) {
  Table facts({{"study"}, {runs.name}});
  facts.add({"units done",
             fmt::format("{} of {}{}", progress.done, progress.units,
                         progress.leased > 0 ? fmt::format(", {} in work", progress.leased) : "")});
  facts.add({"epochs", std::to_string(runs.epochs)});
  facts.add({"seeds", fmt::format("tuned on {}, measured on {}", runs.tune_seed,
                                  fmt::join(runs.seeds, " "))});
  if (runs.pruned) facts.add({"grid", "pruned by successive halving"});
  facts.add({"version", runs.version});
  facts.add({"CPU target", study.target});
  facts.add({"machine", runs.machine});
  facts.add({"created", date(study.created)});
  facts.add({"fingerprint", study.fingerprint});
  facts.add({"command", runs.command});
  write_result(facts.terminal());
  for (const study::TaskRuns& task : runs.tasks) {
    const std::string title =
        fmt::format("{} {} lambda={} batch={}: {} samples, {} weights{}", task.data, task.model,
                    task.lambda, task.batch, task.samples, task.dimension,
                    task.optimum ? fmt::format(", F* = {:.8g}", *task.optimum) : "");
    print_result("\n{}\n",
                 report::wrapped_text(visible(title), report::terminal_width(STDOUT_FILENO)));
    Table table({{"optimizer"},
                 {"tuned", Table::Align::right},
                 {"measured", Table::Align::right},
                 {"diverged", Table::Align::right},
                 {"best loss", Table::Align::right},
                 {"at"}});
    for (const study::OptimizerRuns& optimizer : task.optimizers) {
      const Best best = best_of(optimizer);
      table.add({optimizer.label + (optimizer.baseline ? " (baseline)" : ""),
                 std::to_string(optimizer.tuned.size()), std::to_string(measured(optimizer)),
                 std::to_string(diverged(optimizer)),
                 best.run != nullptr ? fmt::format("{:.6g}", best.loss) : "-",
                 setting(optimizer, best.run)});
    }
    write_result(table.terminal());
  }
}

int run_show(const Options& options, const Common& common) {
  const Store store = Store::open(options.store, Store::Mode::read);
  const store::Study study = study::find_study(store, options.name);
  const store::Progress progress = store.progress(study.id);
  const study::StudyRuns runs = study::load_study(store, options.name);
  (common.json ? show_json : show_text)(runs, study, progress);
  return kDone;
}

// ---- rm, merge ----------------------------------------------------------------------------------

int run_rm(const Options& options, const Common& common) {
  {
    // Looks before it opens for writing, which would make a store that is not there.
    study::find_study(Store::open(options.store, Store::Mode::read), options.name);
  }
  Store store = Store::open(options.store, Store::Mode::write);
  const store::Study study = study::find_study(store, options.name);
  const store::Progress progress = store.progress(study.id);
  const store::Totals totals = store.totals(study.id);
  if (!store.remove_study(study.id, options.force)) {
    print_message(
        "tandem: {}: a process is at work on study '{}' ({} units leased); stop it, or "
        "remove the study all the same with --force\n",
        options.store.string(), study.name, store.progress(study.id).leased);
    return kFailed;
  }
  if (common.json) {
    write_json({{"event", "removed"},
                {"study", study.name},
                {"tasks", totals.tasks},
                {"units", progress.units},
                {"members", totals.members},
                {"points", totals.points}});
  } else if (!common.quiet) {
    print_result("removed '{}': {} tasks, {} units, {} members, {} points\n", study.name,
                 totals.tasks, progress.units, totals.members, totals.points);
  }
  return kDone;
}

int run_merge(const Options& options, const Common& common) {
  for (const std::filesystem::path& other : options.others) {
    Store::open(other, Store::Mode::read);  // before a store is made for nothing
  }
  Store store = Store::open(options.store, Store::Mode::write);
  for (const std::filesystem::path& other : options.others) {
    const store::Merged merged = store.merge(other);
    if (common.json) {
      write_json({{"event", "merged"},
                  {"from", other.string()},
                  {"studies", merged.studies},
                  {"units", merged.units},
                  {"members", merged.members}});
    } else if (!common.quiet) {
      print_result("{}: added {} new studies, {} finished units, {} members\n", other.string(),
                   merged.studies, merged.units, merged.members);
    }
  }
  return kDone;
}

}  // namespace

void add_runs(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "runs",
      "Example: tandem runs list --store tandem.db\n\n"
      "The studies in a store: lists and shows them, removes them, merges stores of several "
      "machines.");
  command->require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help,
                       int (*work)(const Options&, const Common&)) {
    CLI::App* part = command->add_subcommand(name, help);
    part->add_option("--store", options->store, kStoreHelp)->capture_default_str();
    part->callback([options, &common, &job, work] {
      job = [options, &common, work] { return work(*options, common); };
    });
    return part;
  };

  add("list", "Example: tandem runs list\n\nThe studies, and how much of each is done.", run_list);

  CLI::App* part = add("show",
                       "Example: tandem runs show kdd\n\n"
                       "The tasks and optimizers of a study, the best loss of each, and the "
                       "command that reproduces it.",
                       run_show);
  part->add_option("NAME", options->name, "The study")->required();

  part = add("rm",
             "Example: tandem runs rm kdd\n\n"
             "Removes a study with all its runs, without asking.",
             run_rm);
  part->add_option("NAME", options->name, "The study")->required();
  part->add_flag("--force", options->force, "Even while a process is at work on it");

  part = add("merge",
             "Example: tandem runs merge other.db --store tandem.db\n\n"
             "Adds to the store what other stores have and it lacks: whole studies, and finished "
             "units of studies that are in both.",
             run_merge);
  part->add_option("OTHER", options->others, "Other stores, files or URLs; they stay as they are")
      ->required();
}

}  // namespace tandem::cli
