// SPDX-License-Identifier: MIT
// `tandem report`: tables, figures and a page of what a store holds.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/page.h"
#include "report/render.h"
#include "report/study_report.h"
#include "store/location.h"
#include "store/store.h"
#include "study/comparison.h"
#include "study/load.h"

namespace tandem::cli {
namespace {

struct Options {
  std::filesystem::path store = "tandem.db";
  std::vector<std::string> studies;
  std::string report_loss = "total";
  std::string format = "terminal";
  std::filesystem::path html;
  bool no_scripts = false;
  std::filesystem::path figures;
  std::vector<std::string> figure_formats = {"svg", "png"};
};

std::string text_of(const report::Table& table, const std::string& format) {
  if (format == "markdown") return table.markdown();
  if (format == "latex") return table.latex();
  return table.terminal();
}

/// The folder of a study's figures, beside those of others: its name must not lead elsewhere.
std::string folder_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '-');
  name.erase(0, name.find_first_not_of('.'));
  return name.empty() ? "study" : name;
}

/// As it can be typed again.
std::string page_command(const Options& options) {
  std::string text = "tandem report --store " + shell_word(store::short_name(options.store));
  for (const std::string& study : options.studies) text += " --study " + shell_word(study);
  if (options.report_loss != "total") text += " --report-loss " + options.report_loss;
  return text + " --html " + shell_word(options.html.filename().string());
}

int run_report(const Options& options, const Common& common) {
  const store::Store store = store::Store::open(options.store, store::Store::Mode::read);
  std::vector<std::string> names = options.studies;
  if (names.empty()) {
    for (const store::Study& study : store.studies()) names.push_back(study.name);
  }
  if (names.empty()) {
    print_message("tandem: {} has no studies\n", options.store.string());
    return kFailed;
  }
  const auto wants = [&](const char* format) {
    return std::find(options.figure_formats.begin(), options.figure_formats.end(), format) !=
           options.figure_formats.end();
  };
  report::Page page{.title = names.size() == 1 ? names.front() : "Studies",
                    .command = page_command(options),
                    .studies = {}};
  for (const std::string& name : names) {
    study::StudyRuns runs =
        study::load_study(store, name, study::parse_report_loss(options.report_loss));
    const std::vector<study::Row> rows = study::compare(runs);
    const bool many = runs.tasks.size() > 1;
    if (common.json) {
      for (const study::Row& row : rows) write_json(study::to_json(row));
    } else if (options.format == "csv") {
      write_data(report::comparison_table(rows, many).csv());
    } else {
      if (names.size() > 1 && !common.quiet) print_message("{}\n", name);
      const std::vector<study::Row> ablations = report::part_of_rows(rows, true);
      print_result("{}\n",
                   text_of(report::comparison_table(report::part_of_rows(rows, false), many),
                           options.format));
      if (!ablations.empty()) {
        if (!common.quiet) print_message("Ablations\n");
        print_result("{}\n", text_of(report::comparison_table(ablations, many), options.format));
      }
      print_result("{}", text_of(report::equal_cost_table(rows, many), options.format));
      if (!common.quiet) print_note(report::explanation(runs, rows));
    }
    if (!options.figures.empty()) {
      const auto paths = report::write_figures(
          names.size() > 1 ? options.figures / folder_name(name) : options.figures,
          report::study_figures(runs, rows), {.svg = wants("svg"), .png = wants("png")});
      if (!common.quiet && !common.json) {
        print_message("{} files in {}\n", paths.size(), options.figures.string());
      }
    }
    if (!options.html.empty()) page.studies.push_back(std::move(runs));
  }
  if (!options.html.empty()) {
    const bool interactive = report::web_available() && !options.no_scripts;
    report::write_page(options.html, page, interactive);
    if (!common.quiet && !common.json) {
      print_message("the report is in {}{}\n", options.html.string(),
                    interactive || options.no_scripts
                        ? ""
                        : "; static, for this program was built without node and npm");
    }
  }
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report",
                                         "Example: tandem report --store kdd.db --html kdd.html\n\n"
                                         "Tables and figures of what a store holds.");
  command->add_option("--store", options->store, kStoreHelp)->capture_default_str();
  command->add_option("--study", options->studies, "Which study; all unless given");
  command
      ->add_option(
          "--report-loss", options->report_loss,
          "total: what was minimised; data: without lambda/2 |w|^2, in tables, figures and "
          "the choice of settings")
      ->check(CLI::IsMember(study::report_loss_names()))
      ->capture_default_str();
  command->add_option("--format", options->format, "Of the tables")
      ->check(CLI::IsMember({"terminal", "markdown", "latex", "csv"}))
      ->capture_default_str();
  command->add_option("--html", options->html, "File for a page with tables and figures");
  command->add_flag("--static", options->no_scripts,
                    "A page without scripts: figures as they are, no interaction");
  command->add_option("--figures", options->figures, "Folder for the figures as files");
  command->add_option("--figure-formats", options->figure_formats, "svg, png or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"svg", "png"}));
  command->callback([options, &common, &job] {
    job = [options, &common] { return run_report(*options, common); };
  });
}

}  // namespace tandem::cli
