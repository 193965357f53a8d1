// SPDX-License-Identifier: MIT
// `tandem paper`: the paper's own experiments, ours beside its numbers.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/machine.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/paper_theory.h"
#include "cli/progress.h"
#include "report/study_report.h"
#include "report/table.h"
#include "store/store.h"
#include "study/builtin.h"
#include "study/comparison.h"
#include "study/load.h"
#include "study/paper.h"
#include "study/runner.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;
using Align = report::Table::Align;

struct Options {
  std::string name;
  std::string budget = "quick";
  std::vector<std::string> data;  // only these
  std::filesystem::path store = "paper.db";
  std::filesystem::path data_dir;
  std::size_t memory = 0;  // MiB
};

int list_experiments(const Common& common) {
  report::Table table({{"name"}, {"what"}, {"studies", Align::right}});
  for (const study::PaperExperiment& experiment : study::paper_experiments()) {
    if (common.json) {
      fmt::print("{}\n", Json{{"event", "experiment"},
                              {"name", experiment.name},
                              {"what", experiment.what},
                              {"studies", experiment.studies},
                              {"here", experiment.here}}
                             .dump());
    }
    table.add({experiment.name, experiment.what,
               !experiment.here             ? "not yet here"
               : experiment.studies.empty() ? ""
                                            : std::to_string(experiment.studies.size())});
  }
  if (!common.json) fmt::print("{}", table.terminal());
  return kDone;
}

// ---- Table 3 ------------------------------------------------------------------------------------

std::string bytes_text(std::size_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 0x1p20) return fmt::format("{:.1f} KiB", value / 0x1p10);
  if (value < 0x1p30) return fmt::format("{:.1f} MiB", value / 0x1p20);
  return fmt::format("{:.1f} GiB", value / 0x1p30);
}

int show_memory(const Common& common) {
  report::Table table({{"task"},
                       {"weights", Align::right},
                       {"optimizer"},
                       {"paper", Align::right},
                       {"computed", Align::right},
                       {"live", Align::right},
                       {"workspace", Align::right}});
  for (const study::MemoryCell& cell : study::memory_table(available_memory() / 2)) {
    if (common.json) {
      fmt::print("{}\n", Json{{"event", "memory"},
                              {"task", cell.task},
                              {"dimension", cell.dimension},
                              {"optimizer", cell.optimizer},
                              {"paper", cell.paper},
                              {"computed", cell.computed},
                              {"live", cell.live ? Json(*cell.live) : Json(nullptr)},
                              {"workspace", cell.live ? Json(cell.workspace) : Json(nullptr)}}
                             .dump());
      continue;
    }
    table.add({cell.task, std::to_string(cell.dimension), cell.optimizer, cell.paper,
               bytes_text(cell.computed), cell.live ? bytes_text(*cell.live) : "too large",
               cell.live ? bytes_text(cell.workspace) : ""});
  }
  if (!common.json) fmt::print("{}", table.terminal());
  return kDone;
}

// ---- Tables of rho ------------------------------------------------------------------------------

std::string with_mark(double rho, char mark) {
  return mark == 0 ? fmt::format("{:+.2f}", 1e3 * rho) : fmt::format("{:+.2f} {}", 1e3 * rho, mark);
}

std::string ours(const study::Row& row) {
  if (row.rho) return with_mark(*row.rho, row.mark.value_or(0));
  if (row.members > 0 && row.diverged == row.members) return "diverged";
  return row.measured_diverged > 0 ? "diverged -" : "";
}

/// Ours, and the paper's behind it.
std::string cell_text(const study::Row& row) {
  const study::PaperCell* cell = study::paper_cell(row.data, row.model, row.lambda, row.optimizer);
  if (cell == nullptr) return ours(row);
  return fmt::format("{} ({})", ours(row), cell->rho ? with_mark(*cell->rho, cell->mark) : "N/A");
}

class Experiment {
 public:
  Experiment(const study::PaperExperiment& experiment, const Options& options, const Common& common)
      : experiment_(experiment), options_(options), common_(common), progress_(!common.quiet) {}

  int run() {
    catch_interrupts();
    store::Store store = store::Store::open(options_.store, store::Store::Mode::write);
    for (const std::string& path : experiment_.studies) {
      study::StudySpec spec =
          study::parse_study(study::builtin_study(path), std::filesystem::path(path).filename());
      if (!wanted(spec)) continue;
      if (options_.budget == "quick") spec = study::quick(std::move(spec));
      try {
        if (!run_study(std::move(spec), store)) return kInterrupted;
      } catch (const data::DataError& error) {
        missing_.emplace_back(path, error.what());
        say(fmt::format("{}: no data: {}", path, error.what()));
      }
    }
    show();
    return rows_.empty() ? kData : kDone;
  }

 private:
  void say(const std::string& text) {
    progress_.clear();
    if (!common_.quiet && !common_.json) fmt::print(stderr, "{}\n", text);
  }

  bool wanted(const study::StudySpec& spec) const {
    if (options_.data.empty()) return true;
    for (const study::TaskSpec& task : spec.tasks) {
      if (std::find(options_.data.begin(), options_.data.end(), task.data) != options_.data.end()) {
        return true;
      }
    }
    return false;
  }

  bool run_study(study::StudySpec spec, store::Store& store) {
    const std::string name = spec.name;
    study::Runner runner(
        std::move(spec),
        {.data_dir = options_.data_dir,
         .memory = options_.memory << 20,
         .command = fmt::format("tandem paper {} --budget {}", experiment_.name, options_.budget)});
    say(fmt::format("{}: {} members on {} tasks, {} epochs each", name, runner.plan().members,
                    runner.plan().tasks.size(), runner.study().epochs));
    const bool done = runner.run(store, [&](const study::Status& status) {
      progress_.show(status.part, fmt::format("{}: {}; best: {}", name, status.doing, status.best));
      return !interrupted();
    });
    progress_.clear();
    if (!done) {
      fmt::print(stderr, "tandem: interrupted; the same command goes on from {}\n",
                 options_.store.string());
      return false;
    }
    const study::Timing& timing = runner.timing();
    if (timing.member_epochs > 0) {
      say(fmt::format("{}: {}, {:.0f} member-epochs a second", name, duration_text(timing.all),
                      timing.member_epochs / timing.training));
    }
    const study::StudyRuns runs = study::load_study(store, name);
    for (study::Row& row : study::compare(runs)) rows_.push_back(std::move(row));
    return true;
  }

  void show() const {
    if (common_.json) {
      for (const study::Row& row : rows_) {
        Json json = study::to_json(row);
        const study::PaperCell* cell =
            study::paper_cell(row.data, row.model, row.lambda, row.optimizer);
        json["paper_rho"] = cell != nullptr && cell->rho ? Json(*cell->rho) : Json(nullptr);
        json["paper_mark"] =
            cell != nullptr && cell->mark != 0 ? Json(std::string(1, cell->mark)) : Json(nullptr);
        json["budget"] = options_.budget;
        fmt::print("{}\n", json.dump());
      }
      for (const auto& [path, why] : missing_) {
        fmt::print("{}\n", Json{{"event", "no data"}, {"study", path}, {"why", why}}.dump());
      }
      return;
    }
    std::vector<std::string> optimizers;
    std::vector<std::string> tasks;
    std::map<std::pair<std::string, std::string>, const study::Row*> cells;
    for (const study::Row& row : rows_) {
      if (std::find(tasks.begin(), tasks.end(), row.task) == tasks.end()) tasks.push_back(row.task);
      if (!row.baseline &&
          std::find(optimizers.begin(), optimizers.end(), row.optimizer) == optimizers.end()) {
        optimizers.push_back(row.optimizer);
      }
      cells[{row.task, row.optimizer}] = &row;
    }
    std::vector<report::Table::Column> columns{{"task"}};
    for (const std::string& optimizer : optimizers) columns.push_back({optimizer, Align::right});
    report::Table table(columns);
    for (const std::string& task : tasks) {
      std::vector<std::string> line{task};
      for (const std::string& optimizer : optimizers) {
        const auto found = cells.find({task, optimizer});
        line.push_back(found == cells.end() ? "" : cell_text(*found->second));
      }
      table.add(std::move(line));
    }
    for (const auto& [path, why] : missing_) {
      std::vector<std::string> line{path};
      line.resize(columns.size(), "no data");
      table.add(std::move(line));
    }
    fmt::print("{}", table.terminal());
    if (common_.quiet) return;
    fmt::print(stderr,
               "rho x 1e3 against Adam and its mark: ours (the paper's).{}\n"
               "tandem report --store {} shows the statistics, the edges of the grids and the same "
               "at equal cost\n",
               options_.budget == "quick"
                   ? " Quick: fewer epochs and seeds, grids pruned by successive halving; --budget "
                     "full is the paper's protocol."
                   : "",
               options_.store.string());
  }

  const study::PaperExperiment& experiment_;
  const Options& options_;
  const Common& common_;
  Progress progress_;
  std::vector<study::Row> rows_;
  std::vector<std::pair<std::string, std::string>> missing_;  // study, why
};

int run_paper(const Options& options, const Common& common) {
  if (options.name.empty()) return list_experiments(common);
  std::vector<std::string> names;
  for (const study::PaperExperiment& experiment : study::paper_experiments()) {
    names.push_back(experiment.name);
    if (experiment.name != options.name) continue;
    if (!experiment.here) {
      throw std::invalid_argument(
          fmt::format("'{}' is not in this version of Tandem yet", options.name));
    }
    if (options.name == "memory") return show_memory(common);
    return Experiment(experiment, options, common).run();
  }
  throw std::invalid_argument(
      fmt::format("Unknown experiment '{}'{}", options.name, suggestion(options.name, names)));
}

}  // namespace

void add_paper(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "paper",
      "Example: tandem paper strongly-convex --data nsl-kdd\n\n"
      "The paper's experiments, ours beside its numbers. Without a name: the list.");
  command->add_option("NAME", options->name, "Of the experiment");
  command->add_option("--budget", options->budget, "quick: minutes; full: the paper's whole grid")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  command->add_option("--data", options->data, "Only these data sets");
  command->add_option("--store", options->store, "The run store")->capture_default_str();
  command->add_option("--data-dir", options->data_dir,
                      "Folder of data sets; searched before TANDEM_DATA and the system's folder");
  command
      ->add_option("--memory", options->memory,
                   "MiB for a wave of members; 0 is three quarters of what is free")
      ->capture_default_str();
  add_theory(*command, options->budget, options->data_dir, common, job);
  command->callback([options, command, &common, &job] {
    if (!command->get_subcommands().empty()) return;  // that one has set the job
    job = [options, &common] { return run_paper(*options, common); };
  });
}

}  // namespace tandem::cli
