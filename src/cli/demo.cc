// SPDX-License-Identifier: MIT
// `tandem demo`: a whole study with nothing to set up: a table, curves, and a report.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/curves.h"
#include "report/page.h"
#include "report/render.h"
#include "report/study_figures.h"
#include "report/study_report.h"
#include "report/terminal.h"
#include "store/store.h"
#include "study/builtin.h"
#include "study/comparison.h"
#include "study/load.h"
#include "study/runner.h"

namespace tandem::cli {
namespace {

struct Options {
  std::string data;
  std::filesystem::path data_dir;
  std::filesystem::path output = "tandem-demo";
};

/// The gap to the optimum on a log axis tells most; the loss where the optimum is not known.
void show_curves(const study::TaskRuns& task) {
  const auto gap = report::gap_figure(task);
  try {
    for (const std::string& text : report::render_text({gap ? *gap : report::loss_figure(task)},
                                                       report::terminal_options())) {
      write_drawing(fmt::format("\n{}\n", text));
    }
  } catch (const report::FigureError& error) {
    print_message("curves: skipped, {}\n", error.what());
  }
}

int run_demo(const Options& options, const Common& common) {
  std::string text(study::builtin_study("demo.toml"));
  std::string command = "tandem demo";
  if (!options.data.empty()) {
    const std::string usual = "\"fashion-mnist\"";
    // A string of JSON is one of TOML.
    const nlohmann::json data = options.data;
    text.replace(text.find(usual), usual.size(),
                 data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    command += " --data " + shell_word(options.data);
  }
  study::StudySpec spec = study::parse_study(text, "demo.toml");
  std::filesystem::create_directories(options.output);
  write_atomically(options.output / "demo.toml", [&](std::ostream& stream) { stream << text; });
  // A demonstration starts anew; a study would go on.
  const std::filesystem::path file = options.output / "demo.db";
  for (const char* ending : {"", "-wal", "-shm"}) {
    std::filesystem::remove(file.string() + ending);
  }
  study::Runner runner(std::move(spec),
                       {.data_dir = options.data_dir, .memory = 0, .command = command});
  const study::StudyPlan& plan = runner.plan();
  if (!common.quiet && !common.json) {
    for (const std::string& note : plan.tasks.front().notes) print_message("{}\n", note);
    print_message(
        "{} settings of {} optimizers, then the best of each on {} other seeds, {} epochs "
        "each\n",
        plan.members, runner.study().optimizers.size(), runner.study().seeds.size(),
        runner.study().epochs);
  }
  store::Store store = store::Store::open(file, store::Store::Mode::write);
  catch_interrupts();
  Progress progress(!common.quiet);
  const bool done = runner.run(store, [&](const study::Status& status) {
    progress.show(status.part, fmt::format("{}; best: {}", status.doing, status.best));
    return !interrupted();
  });
  progress.clear();
  if (!done) return kInterrupted;

  const study::StudyRuns runs = study::load_study(store, runner.study().name);
  const std::vector<study::Row> rows = study::compare(runs);
  const std::filesystem::path page = options.output / "report.html";
  report::write_page(page,
                     {.title = "Tandem: " + runs.name, .command = command, .studies = {runs}});
  if (common.json) {
    for (const study::Row& row : rows) write_json(study::to_json(row));
    return kDone;
  }
  write_result(report::comparison_table(rows, runs.tasks.size() > 1).terminal());
  if (common.quiet) return kDone;
  show_curves(runs.tasks.front());
  const std::size_t width = report::terminal_width(STDOUT_FILENO);
  print_result(
      "\n{}\n\n{}\n\n{} in all. The report is in {}; the study is {}, its runs are in {}.\n",
      report::wrapped_text(report::summary(runs, rows), width),
      report::wrapped_text(report::explanation(runs, rows), width),
      duration_text(runner.timing().all), page.string(), (options.output / "demo.toml").string(),
      file.string());
  return kDone;
}

}  // namespace

void add_demo(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("demo",
                                         "Example: tandem demo\n\n"
                                         "Adam, momentum, SAGA and the trainable optimizers on "
                                         "Fashion-MNIST, tuned on a small grid: a "
                                         "table, curves, and a report.");
  command->add_option("--data", options->data, "Another data set than Fashion-MNIST");
  command->add_option("--data-dir", options->data_dir,
                      "Folder of data sets; searched before TANDEM_DATA and the system's folder");
  command->add_option("--output", options->output, "Folder for the report and the run store")
      ->capture_default_str();
  command->callback([options, &common, &job] {
    job = [options, &common] { return run_demo(*options, common); };
  });
}

}  // namespace tandem::cli
