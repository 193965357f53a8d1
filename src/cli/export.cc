// SPDX-License-Identifier: MIT
// `tandem export`: what a store holds, for other programs.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/output.h"
#include "export/points.h"
#include "export/runs.h"
#include "export/tensorboard.h"
#include "store/store.h"
#include "study/load.h"

namespace tandem::cli {
namespace {

using store::Store;

struct Options {
  std::filesystem::path store = "tandem.db";
  std::vector<std::string> studies;
  std::filesystem::path out;
  bool grid = false;
};

exporting::Selection selection_of(const Store& store, const Options& options) {
  exporting::Selection selection{.studies = {}, .grid = options.grid};
  if (options.studies.empty()) selection.studies = store.studies();
  for (const std::string& name : std::set(options.studies.begin(), options.studies.end())) {
    selection.studies.push_back(study::find_study(store, name));
  }
  if (selection.studies.empty()) {
    throw store::StoreError(fmt::format("{} has no studies", options.store.string()));
  }
  return selection;
}

/// The last line, of files that were written; standard output may be the export itself.
void say_done(const Options& options, const Common& common, const nlohmann::ordered_json& counts,
              const std::string& text) {
  if (common.json) {
    nlohmann::ordered_json line{{"event", "exported"}, {"out", options.out.string()}};
    line.update(counts);
    write_json(line);
  } else if (!common.quiet) {
    print_message("{}\n", text);
  }
}

int run_tensorboard(const Options& options, const Common& common) {
  if (std::filesystem::exists(options.out) && !std::filesystem::is_directory(options.out)) {
    throw std::invalid_argument(
        fmt::format("--out {} is a file, expected a folder", options.out.string()));
  }
  const Store store = Store::open(options.store, Store::Mode::read);
  const exporting::Exported done =
      exporting::export_tensorboard(store, selection_of(store, options), options.out);
  say_done(options, common, {{"runs", done.runs}, {"points", done.points}, {"bytes", done.bytes}},
           fmt::format("{} runs, {} points, {:.1f} MB in {}; tensorboard --logdir {}", done.runs,
                       done.points, static_cast<double>(done.bytes) / 1e6, options.out.string(),
                       shell_word(options.out.string())));
  return kDone;
}

using WritePoints = std::size_t (*)(const Store&, const exporting::Selection&, std::ostream&);

int run_points(const Options& options, const Common& common, WritePoints write) {
  if (std::filesystem::is_directory(options.out)) {
    throw std::invalid_argument(
        fmt::format("--out {} is a folder, expected a file", options.out.string()));
  }
  const Store store = Store::open(options.store, Store::Mode::read);
  const exporting::Selection selection = selection_of(store, options);
  if (options.out.empty()) {
    DataStream stream;
    write(store, selection, stream);
    return kDone;
  }
  std::size_t points = 0;
  write_atomically(options.out,
                   [&](std::ostream& stream) { points = write(store, selection, stream); });
  say_done(options, common, {{"points", points}},
           fmt::format("{} points in {}", points, options.out.string()));
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("export",
                         "Example: tandem export tensorboard --store tandem.db --out events\n\n"
                         "What a store holds, for other programs: TensorBoard, CSV, JSON lines.");
  command->require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help, const char* out_help,
                       const std::function<int(const Options&, const Common&)>& work) {
    CLI::App* part = command->add_subcommand(name, help);
    part->add_option("--store", options->store, kStoreHelp)->capture_default_str();
    part->add_option("--study", options->studies, "Which study, or several; all unless given");
    part->add_flag("--grid", options->grid,
                   "Every setting of the tuning seed too, not only measured runs");
    part->callback([options, &common, &job, work] {
      job = [options, &common, work] { return work(*options, common); };
    });
    return part->add_option("--out", options->out, out_help);
  };
  add("tensorboard",
      "Example: tandem export tensorboard --store tandem.db --out events\n\n"
      "Event files of TensorBoard, a folder a run: curves, hyper-parameters, texts.",
      "The folder; it is made", run_tensorboard)
      ->required();
  add("csv",
      "Example: tandem export csv --store tandem.db --out points.csv\n\n"
      "A line for every point of every run.",
      "The file; standard output unless given", [](const Options& chosen, const Common& shared) {
        return run_points(chosen, shared, exporting::write_csv);
      });
  add("jsonl",
      "Example: tandem export jsonl --store tandem.db --out points.jsonl\n\n"
      "A JSON object for every point of every run, a line each.",
      "The file; standard output unless given", [](const Options& chosen, const Common& shared) {
        return run_points(chosen, shared, exporting::write_json_lines);
      });
}

}  // namespace tandem::cli
