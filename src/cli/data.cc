// SPDX-License-Identifier: MIT
// `tandem data`: list, describe, verify and fetch data sets.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/values.h"
#include "data/dataset.h"
#include "data/describe.h"
#include "data/fetch.h"
#include "data/locate.h"
#include "data/recipe.h"
#include "data/verify.h"
#include "report/table.h"
#include "report/terminal.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Options {
  std::string name;
  fs::path data_dir;
  std::vector<std::string> options;  // NAME=VALUE
  double validation = 0;
  std::string mirror;
  double most_megabytes = 1024;
};

// ---- list ---------------------------------------------------------------------------------------

/// The folder in which the first file of a data set was found; empty if there is none, or no need.
std::string place_of(const data::Recipe& recipe, const std::vector<fs::path>& search) {
  const data::Locator locator(recipe, search);
  for (const auto* files : {&recipe.unpacked, &recipe.files}) {
    for (const data::FileInfo& file : *files) {
      if (const auto path = locator.find(file.name)) return path->parent_path().string();
    }
  }
  return "";
}

int run_list(const Options& options, const Common& common) {
  const auto search = data::search_folders(options.data_dir);
  report::Table table({{"name"}, {"what"}, {"found in"}, {"reference"}});
  for (const data::Recipe& recipe : data::recipes()) {
    const std::string place = place_of(recipe, search);
    if (common.json) {
      Json files = Json::array();
      for (const data::FileInfo& file : recipe.files) {
        files.push_back({{"name", file.name}, {"url", file.url}, {"needed", !file.optional}});
      }
      Json known = Json::array();
      for (const data::OptionInfo& option : recipe.options) {
        known.push_back({{"name", option.name},
                         {"default", option.default_value},
                         {"meaning", option.meaning}});
      }
      const Json line = {{"name", recipe.name},           {"argument", recipe.argument},
                         {"summary", recipe.summary},     {"found_in", place},
                         {"files", std::move(files)},     {"page", recipe.page},
                         {"reference", recipe.reference}, {"options", std::move(known)}};
      write_json(line);
      continue;
    }
    const std::string missing = recipe.files.empty() ? "" : "-";
    table.add({recipe.argument.empty() ? recipe.name : recipe.name + ":" + recipe.argument,
               recipe.summary, place.empty() ? missing : place, recipe.reference});
  }
  if (common.json) return kDone;
  write_result(table.terminal());
  if (!common.quiet) {
    std::string text = "\nSearched:";
    for (const fs::path& folder : search) text += " " + folder.string();
    text += " (--data-dir, TANDEM_DATA, the system's)\nOptions of one: tandem data describe NAME";
    print_result("{}\n", report::wrapped_text(text, report::terminal_width(STDOUT_FILENO)));
  }
  return kDone;
}

// ---- describe -----------------------------------------------------------------------------------

Json to_json(const data::Lengths& lengths) {
  return {{"minimum", lengths.minimum}, {"median", lengths.median}, {"maximum", lengths.maximum}};
}

Json to_json(const data::Dataset& data, const data::Description& facts, const std::string& part) {
  if (!data.texts.empty()) {
    return {{"event", "data"},
            {"part", part},
            {"name", data.name},
            {"rows", data.rows},
            {"prompt_characters", to_json(facts.prompts)},
            {"response_characters", to_json(facts.responses)},
            {"bytes", data.bytes()},
            {"fingerprint", fmt::format("{:016x}", data.fingerprint())}};
  }
  Json counts = Json::object();
  for (std::size_t c = 0; c < data.classes; ++c) {
    counts[data.class_names[c]] = facts.class_counts[c];
  }
  return {{"event", "data"},
          {"part", part},
          {"name", data.name},
          {"rows", data.rows},
          {"features", data.features},
          {"classes", data.classes},
          {"class_counts", std::move(counts)},
          {"sparse", data.sparse},
          {"nonzero", facts.nonzero},
          {"minimum", facts.minimum},
          {"maximum", facts.maximum},
          {"mean", facts.mean},
          {"deviation", facts.deviation},
          {"constant_features", facts.constant_features},
          {"bytes", data.bytes()},
          {"fingerprint", fmt::format("{:016x}", data.fingerprint())}};
}

void print_texts(const data::Dataset& data, const data::Description& facts) {
  const auto range = [](const data::Lengths& lengths) {
    return fmt::format("{} / {} / {}", lengths.minimum, lengths.median, lengths.maximum);
  };
  report::Table table({{"property"}, {"value", report::Table::Align::right}});
  table.add({"items", std::to_string(data.rows)});
  table.add({"characters of a prompt: least / median / most", range(facts.prompts)});
  table.add({"characters of a response: least / median / most", range(facts.responses)});
  table.add({"memory", fmt::format("{:.1f} MiB", static_cast<double>(data.bytes()) / 0x1p20)});
  table.add({"fingerprint", fmt::format("{:016x}", data.fingerprint())});
  write_result(table.terminal());
}

void print_dataset(const data::Dataset& data, const data::Description& facts,
                   const std::string& part) {
  print_result("\n{}\n", part);
  if (!data.texts.empty()) {
    print_texts(data, facts);
    return;
  }
  report::Table table({{"property"}, {"value", report::Table::Align::right}});
  table.add({"rows", std::to_string(data.rows)});
  table.add({"features", std::to_string(data.features)});
  table.add({"features that never change", std::to_string(facts.constant_features)});
  table.add({"classes", std::to_string(data.classes)});
  table.add({"elements not zero", fmt::format("{:.2f} %", 100 * facts.nonzero)});
  table.add({"smallest", fmt::format("{:.6g}", facts.minimum)});
  table.add({"largest", fmt::format("{:.6g}", facts.maximum)});
  table.add({"mean", fmt::format("{:.6g}", facts.mean)});
  table.add({"deviation", fmt::format("{:.6g}", facts.deviation)});
  table.add({"memory", fmt::format("{:.1f} MiB, {}", static_cast<double>(data.bytes()) / 0x1p20,
                                   data.sparse ? "sparse" : "dense")});
  table.add({"fingerprint", fmt::format("{:016x}", data.fingerprint())});
  print_result("{}\n", table.terminal());
  report::Table counts({{"class"}, {"rows", report::Table::Align::right}});
  for (std::size_t c = 0; c < data.classes; ++c) {
    counts.add({data.class_names[c], std::to_string(facts.class_counts[c])});
  }
  write_result(counts.terminal());
}

void print_recipe(const data::Recipe& recipe) {
  print_result("{}: {}\n", recipe.name, recipe.summary);
  if (!recipe.reference.empty()) print_result("{}\n", recipe.reference);
  if (!recipe.page.empty()) print_result("{}\n", recipe.page);
  print_result("\n");
  report::Table table({{"option"}, {"default"}, {"meaning"}});
  for (const data::OptionInfo& option : recipe.options) {
    table.add({option.name, option.default_value, option.meaning});
  }
  print_result("{}\n", table.terminal());
}

int run_describe(const Options& options, const Common& common) {
  data::LoadOptions load{.search = data::search_folders(options.data_dir),
                         .validation = options.validation,
                         .seed = common.seed,
                         .options = {}};
  for (const std::string& option : options.options) {
    const std::size_t equal = option.find('=');
    if (equal == std::string::npos) {
      throw std::invalid_argument(
          fmt::format("Invalid --option '{}', expected NAME=VALUE", option));
    }
    load.options[option.substr(0, equal)] = option.substr(equal + 1);
  }
  const data::Recipe& recipe = data::find_recipe(options.name);
  if (!common.json && !common.quiet) print_recipe(recipe);
  const data::Task task = data::load_task(options.name, load);
  if (common.json) {
    write_json({{"event", "notes"}, {"notes", task.notes}});
  } else {
    for (const std::string& note : task.notes) {
      print_result("{}\n",
                   report::wrapped_text("- " + note, report::terminal_width(STDOUT_FILENO)));
    }
  }
  const auto show = [&](const data::Dataset& part, const char* name) {
    const data::Description facts = data::describe(part);
    if (common.json) {
      write_json(to_json(part, facts, name));
    } else {
      print_dataset(part, facts, name);
    }
  };
  show(task.train, "train");
  if (task.validation) show(*task.validation, "validation");
  return kDone;
}

// ---- verify -------------------------------------------------------------------------------------

int run_verify(const Options& options, const Common& common) {
  const auto search = data::search_folders(options.data_dir);
  std::vector<const data::Recipe*> chosen;
  if (!options.name.empty()) {
    chosen.push_back(&data::find_recipe(options.name));
  } else {
    for (const data::Recipe& recipe : data::recipes()) {
      if (!place_of(recipe, search).empty()) chosen.push_back(&recipe);
    }
  }
  report::Table table({{"data set"}, {"file"}, {"state"}, {"detail"}});
  bool good = true;
  for (const data::Recipe* recipe : chosen) {
    for (const data::FileCheck& check : data::verify(*recipe, search)) {
      using State = data::FileCheck::State;
      if (check.state == State::missing && !check.needed) continue;
      good &= check.state == State::good || check.state == State::unknown;
      const std::string file = check.path.empty() ? check.name : check.path.string();
      if (common.json) {
        const Json line = {{"data", recipe->name},
                           {"file", file},
                           {"state", data::state_name(check.state)},
                           {"detail", check.detail}};
        write_json(line);
      } else {
        table.add({recipe->name, file, data::state_name(check.state), check.detail});
      }
    }
  }
  if (!common.json) write_result(table.terminal());
  return good ? kDone : kData;
}

// ---- fetch --------------------------------------------------------------------------------------

/// Progress on standard error: a line that moves on a terminal, else a line when a file is there.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

  void operator()(const data::FetchProgress& progress) {
    if (quiet_) return;
    const double received = static_cast<double>(progress.received) / 0x1p20;
    const std::string start = terminal_ ? emptied_line() : "";
    if (progress.done) {
      write_message(start, fmt::format("{}: {:.1f} MiB, done\n", progress.file, received));
      return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(5)))
      return;
    last_ = now;
    std::string of;
    if (progress.total > 0) {
      of = fmt::format(" of {:.1f}", static_cast<double>(progress.total) / 0x1p20);
    }
    write_message(start, fmt::format("{}: {:.1f}{} MiB{}", progress.file, received, of,
                                     terminal_ ? "" : "\n"));
  }

 private:
  bool quiet_;
  bool terminal_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

int run_fetch(const Options& options, const Common& common) {
  const data::Recipe& recipe = data::find_recipe(options.name);
  fs::path folder = options.data_dir;
  if (folder.empty()) {
    const char* variable = std::getenv("TANDEM_DATA");
    folder = variable != nullptr && *variable != '\0' ? variable : "data";
  }
  if (!recipe.folders.empty()) folder /= recipe.folders.front();
  const auto paths = data::fetch(
      recipe, {.folder = folder,
               .mirror = options.mirror,
               .most_bytes = static_cast<std::uint64_t>(options.most_megabytes * 0x1p20),
               .progress = ProgressLine(common.quiet)});
  for (const fs::path& path : paths) {
    if (common.json) {
      write_json({{"event", "file"},
                  {"data", recipe.name},
                  {"file", path.string()},
                  {"bytes", fs::file_size(path)}});
    } else {
      write_data(path.string() + "\n");
    }
  }
  return kDone;
}

}  // namespace

void add_data(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("data",
                         "Example: tandem data describe fashion-mnist\n\n"
                         "Data sets: which are known and found, what is in them, whether their "
                         "files are the published ones, and how to get them.");
  command->require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help,
                       int (*work)(const Options&, const Common&)) {
    CLI::App* part = command->add_subcommand(name, help);
    part->add_option("--data-dir", options->data_dir,
                     "Folder of data sets; searched before TANDEM_DATA and the system's folder");
    part->callback([options, &common, &job, work] {
      job = [options, &common, work] { return work(*options, common); };
    });
    return part;
  };

  add("list", "Example: tandem data list\n\nThe data sets, and where their files were found.",
      run_list);

  CLI::App* part = add("describe",
                       "Example: tandem data describe nsl-kdd --option split=train20\n\n"
                       "Loads a data set and shows what was done, the counts and some statistics.",
                       run_describe);
  part->add_option("NAME", options->name, "mnist, nsl-kdd, libsvm:PATH, ...")->required();
  part->add_option("--option", options->options, "NAME=VALUE of the recipe; as often as needed");
  part->add_option("--validation", options->validation,
                   "Fraction held out where there is no test part")
      ->check(number(0, 0.9));

  part = add("verify",
             "Example: tandem data verify mnist\n\n"
             "Compares files with the published digests; without NAME all that are there.",
             run_verify);
  part->add_option("NAME", options->name, "mnist, nsl-kdd, ...");

  part = add("fetch",
             "Example: tandem data fetch covtype --data-dir data\n\n"
             "Downloads a data set into a folder of its name in --data-dir, TANDEM_DATA or ./data.",
             run_fetch);
  part->add_option("NAME", options->name, "mnist, covtype, ...")->required();
  part->add_option("--mirror", options->mirror,
                   "Address of a folder with the same files, instead of the publishers'");
  part->add_option("--max-mb", options->most_megabytes, "Refuse files larger than this")
      ->check(number(0.001, 1e6))
      ->capture_default_str();
}

}  // namespace tandem::cli
