// SPDX-License-Identifier: MIT
#include "study/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "base/shell_word.h"
#include "study/train_options.h"

namespace tandem::study {
namespace {

/// What a task's name says beyond data, model, lambda and batch: task_name() wrote it.
std::string rest_of_name(const store::Task& task) {
  std::string text;
  const std::string middle = fmt::format(" {} lambda=", task.model);
  const std::size_t model = task.key.find(middle, task.data.size());
  if (model == std::string::npos) return text;
  std::istringstream options(task.key.substr(task.data.size(), model - task.data.size()));
  for (std::string option; options >> option;) text += " --data-option " + shell_word(option);
  const std::size_t batch = task.key.find(" batch=", model);
  if (batch == std::string::npos) return text;
  std::istringstream words(task.key.substr(batch + 1));
  std::string word;
  words >> word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    text += fmt::format(" --{} {}", word.substr(0, equals), shell_word(word.substr(equals + 1)));
  }
  return text;
}

}  // namespace

std::string run_command(const store::Study& study, const store::Task& task,
                        const store::MemberRow& member) {
  if (member.pruned) return {};
  std::string text = fmt::format("tandem train --data {}", shell_word(task.data));
  if (task.model != "logistic") text += " --model " + shell_word(task.model);
  text += fmt::format(" --lambda {} --batch {}{}", task.lambda, task.batch, rest_of_name(task));
  text += fmt::format(" --data-seed {} --seed {} --epochs {} --optimizer {}", study.tune_seed,
                      member.seed, study.epochs, shell_word(member.method));
  const OptionMap defaults = resolved_options({.method = member.method, .options = {}});
  constexpr std::array<std::string_view, 4> kOwn = {"lr", "alpha", "beta", "decay"};
  for (const auto& [name, value] : member.options) {
    const auto usual = defaults.find(name);
    if (usual != defaults.end() && usual->second == value) continue;
    if (std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end()) {
      text += fmt::format(" --{} {}", name, shell_word(value));
    } else {
      text += fmt::format(" --option {}", shell_word(name + "=" + value));
    }
  }
  return text;
}

}  // namespace tandem::study
