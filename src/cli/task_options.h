// SPDX-License-Identifier: MIT
// The options that say what is trained on, for every command that loads a task.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace CLI {
class App;
}

namespace tandem::cli {

struct TaskOptions {
  std::string data;
  std::filesystem::path data_dir;
  std::vector<std::string> data_options;  // NAME=VALUE
  double validation = 0;
  std::optional<std::uint64_t> seed = {};  // of the split; else as of all that is random
};

void add_task_options(CLI::App& command, TaskOptions& options);
data::Task load_task(const TaskOptions& options, std::uint64_t seed);

/// Throws std::invalid_argument for what is not NAME=VALUE, with the name of the option it is of.
std::pair<std::string, std::string> name_and_value(const std::string& option,
                                                   const std::string& text);

}  // namespace tandem::cli
