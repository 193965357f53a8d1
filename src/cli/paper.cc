// SPDX-License-Identifier: MIT
// `tandem paper`: the paper's own experiments, ours beside its numbers.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/bytes_text.h"
#include "base/machine.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/paper_estimators.h"
#include "cli/paper_lambda.h"
#include "cli/paper_protocol.h"
#include "cli/paper_rho.h"
#include "cli/paper_theory.h"
#include "cli/values.h"
#include "paper/experiments.h"
#include "report/table.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;
using Align = report::Table::Align;

int list_experiments(const Common& common) {
  report::Table table({{"name"}, {"what"}, {"studies", Align::right}});
  for (const paper::PaperExperiment& experiment : paper::paper_experiments()) {
    if (common.json) {
      write_json(Json{{"event", "experiment"},
                      {"name", experiment.name},
                      {"what", experiment.what},
                      {"studies", experiment.studies}});
    }
    table.add({experiment.name, experiment.what,
               experiment.studies.empty() ? "" : std::to_string(experiment.studies.size())});
  }
  if (!common.json) write_result(table.terminal());
  return kDone;
}

// ---- Table 3 ------------------------------------------------------------------------------------

int show_memory(const PaperOptions& options, const Common& common) {
  report::Table table({{"task"},
                       {"weights", Align::right},
                       {"optimizer"},
                       {"paper", Align::right},
                       {"computed", Align::right},
                       {"live", Align::right},
                       {"workspace", Align::right}});
  for (const paper::MemoryCell& cell : paper::memory_table(available_memory() / 2)) {
    if (common.json) {
      write_json(Json{{"event", "memory"},
                      {"task", cell.task},
                      {"dimension", cell.dimension},
                      {"optimizer", cell.optimizer},
                      {"paper", cell.paper},
                      {"computed", cell.computed},
                      {"live", cell.live ? Json(*cell.live) : Json(nullptr)},
                      {"workspace", cell.live ? Json(cell.workspace) : Json(nullptr)}});
    }
    table.add({cell.task, std::to_string(cell.dimension), cell.optimizer, cell.paper,
               bytes_text(cell.computed), cell.live ? bytes_text(*cell.live) : "too large",
               cell.live ? bytes_text(cell.workspace) : ""});
  }
  if (!common.json) write_result(table.terminal());
  if (!options.out.empty()) {
    make_out_folder(options.out);
    write_atomically(options.out / "memory.md", [&](std::ostream& stream) {
      stream << "# Table 3: bytes of state\n\n```sh\ntandem paper memory\n```\n\nComputed from the "
                "number of weights, and read from an optimizer that made a step; its workspace is "
                "apart.\n\n"
             << table.markdown();
    });
  }
  return kDone;
}

/// Options that mean nothing where no study is run would be ignored in silence.
void refuse_options_of_studies(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string found = option->get_name();
    if (option->count() == 0 || option->get_positional()) continue;
    if (name == "memory" && found == "--out") continue;
    throw std::invalid_argument(fmt::format("{} is not an option of {}", found,
                                            name.empty() ? "the list of experiments" : name));
  }
}

int run_paper(const PaperOptions& options, const Common& common) {
  if (options.name.empty()) return list_experiments(common);
  std::vector<std::string> names;
  for (const paper::PaperExperiment& experiment : paper::paper_experiments()) {
    names.push_back(experiment.name);
    if (experiment.name != options.name) continue;
    if (options.name == "memory") return show_memory(options, common);
    if (options.only_static && (options.name == "protocol" || options.name == "lambda")) {
      throw std::invalid_argument("--static is not an option of " + options.name);
    }
    if (options.name == "protocol") return run_protocol(experiment, options, common);
    if (options.name == "lambda" && options.report_loss != "total") {
      throw std::invalid_argument("--report-loss is not an option of lambda");
    }
    if (options.name == "lambda") return run_lambda(experiment, options, common);
    return run_rho(experiment, options, common);
  }
  throw std::invalid_argument(
      fmt::format("Unknown experiment '{}'{}", options.name, suggestion(options.name, names)));
}

}  // namespace

void add_paper(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<PaperOptions>();
  CLI::App* command = app.add_subcommand(
      "paper",
      "Example: tandem paper strongly-convex --data nsl-kdd\n\n"
      "The paper's experiments, ours beside its numbers. Without a name: the list.");
  command->add_option("NAME", options->name, "Of the experiment");
  command->add_option("--budget", options->budget, "quick: minutes; full: the paper's whole grid")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  command->add_option("--start", options->start, "Weights at the start, of logistic regression")
      ->check(CLI::IsMember({"normal", "zeros"}))
      ->capture_default_str();
  command->add_option("--loss", options->loss, "double-softmax: the softmax taken twice")
      ->check(CLI::IsMember(problems::loss_names()))
      ->capture_default_str();
  command
      ->add_option("--report-loss", options->report_loss,
                   "total: what is minimised; data: without lambda/2 |w|^2")
      ->check(CLI::IsMember(study::report_loss_names()))
      ->capture_default_str();
  command->add_option("--data", options->data, "Only these data sets");
  command->add_option("--data-option", options->data_options,
                      "NAME=VALUE for the data sets' recipes; as often as needed");
  command
      ->add_option(
          "--epochs", options->epochs,
          "In place of the experiment's, which the paper does not say; 0: the experiment's")
      ->check(whole(0, study::kMostEpochs))
      ->capture_default_str();
  command->add_option("--out", options->out,
                      "Folder for a page, raw rows and figures of what was found");
  command->add_flag("--static", options->only_static,
                    "With --out: without the page to explore, which has every epoch of every run");
  command->add_option("--store", options->store, kStoreHelp)->capture_default_str();
  command->add_option("--data-dir", options->data_dir,
                      "Folder of data sets; searched before TANDEM_DATA and the system's folder");
  command
      ->add_option("--memory", options->memory,
                   "MiB for a wave of members; 0 is three quarters of what is free")
      ->check(whole(0, kMostMemory))
      ->capture_default_str();
  add_theory(*command, options->budget, options->data_dir, common, job);
  add_estimators(*command, options->budget, options->data_dir, common, job);
  command->callback([options, command, &common, &job] {
    if (!command->get_subcommands().empty()) return;  // that one has set the job
    const std::string& name = options->name;
    if (name.empty() || name == "memory") refuse_options_of_studies(*command, name);
    job = [options, &common] { return run_paper(*options, common); };
  });
}

}  // namespace tandem::cli
