// SPDX-License-Identifier: MIT
#include "cli/task_options.h"
#include "cli/values.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <stdexcept>

namespace tandem::cli {

void add_task_options(CLI::App& command, TaskOptions& options) {
  command
      .add_option("--data", options.data,
                  "Data set, or libsvm:PATH, csv:PATH: `tandem data list` names them")
      ->required();
  command.add_option("--data-dir", options.data_dir,
                     "Folder of data sets; searched before TANDEM_DATA and the system's folder");
  command.add_option("--data-option", options.data_options,
                     "NAME=VALUE for the data set's recipe; as often as needed");
  command
      .add_option("--validation", options.validation,
                  "Fraction held out, where there is no test part")
      ->check(number(0, 0.9));
  command.add_option("--data-seed", options.seed,
                     "Seed of what is random in the data; else that of --seed");
}

data::Task load_task(const TaskOptions& options, std::uint64_t seed) {
  data::LoadOptions load{.search = data::search_folders(options.data_dir),
                         .validation = options.validation,
                         .seed = options.seed.value_or(seed),
                         .options = {}};
  for (const std::string& text : options.data_options) {
    load.options.insert(name_and_value("--data-option", text));
  }
  return data::load_task(options.data, load);
}

std::pair<std::string, std::string> name_and_value(const std::string& option,
                                                   const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw std::invalid_argument(fmt::format("Invalid {} '{}', expected NAME=VALUE", option, text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace tandem::cli
