// SPDX-License-Identifier: MIT
#include "study/stored_study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tandem::study {
namespace {

using Json = nlohmann::json;

Json to_json(const TaskSpec& task) {
  return {{"data", task.data},
          {"options", task.data_options},
          {"validation", task.validation},
          {"model", task.model},
          {"loss", problems::loss_name(task.loss)},
          {"lambda", task.lambda},
          {"batch", task.batch},
          {"zeros", task.init == train::Init::zeros},
          {"shuffle", task.shuffle},
          {"independent", task.sampling == train::Sampling::independent}};
}

TaskSpec task_spec(const Json& json) {
  return {
      .data = json.at("data"),
      .data_options = json.at("options"),
      .validation = json.at("validation"),
      .model = json.at("model"),
      .loss = problems::parse_loss(json.at("loss")),
      .lambda = json.at("lambda"),
      .batch = json.at("batch"),
      .init = json.at("zeros").get<bool>() ? train::Init::zeros : train::Init::normal,
      .shuffle = json.at("shuffle"),
      .sampling = json.at("independent").get<bool>() ? train::Sampling::independent
                                                     : train::Sampling::epochs,
  };
}

StudySpec read(const std::string& text, const std::vector<store::Task>& tasks) {
  const Json json = Json::parse(text);
  StudySpec study{.name = json.at("name"),
                  .epochs = json.at("epochs"),
                  .tune_seed = json.at("tune_seed"),
                  .seeds = json.at("seeds"),
                  .prune = json.at("prune"),
                  .diagnose = json.at("diagnose"),
                  .measure_all = json.value("measure", "best") == "all",
                  .optimum = json.at("optimum"),
                  .optimizers = optimizers_of(text)};
  for (const std::string name : json.at("tasks")) {
    const auto row = std::find_if(tasks.begin(), tasks.end(),
                                  [&](const store::Task& task) { return task.key == name; });
    if (row == tasks.end()) throw std::out_of_range(fmt::format("the task '{}' is missing", name));
    study.tasks.push_back(task_spec(Json::parse(row->facts).at("spec")));
  }
  return study;
}

}  // namespace

std::string task_facts(const PlannedTask& task) {
  return Json{{"description", task.description},
              {"notes", task.notes},
              {"task", task.name},
              {"spec", to_json(task.spec)}}
      .dump();
}

StudySpec stored_study(const store::Study& study, const std::vector<store::Task>& tasks) {
  std::string wrong;
  try {
    StudySpec read_back = read(study.text, tasks);
    if (canonical_text(read_back) == study.text) return read_back;
    wrong = "its text is not the one that it was planned from";
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  throw store::StoreError(fmt::format(
      "study '{}': an older version of Tandem wrote it, or it is damaged ({}): expected "
      "all of its file; work on it with `tandem study FILE`",
      study.name, wrong));
}

void require_target(const store::Study& study) {
  if (study.target == cpu_target()) return;
  const std::vector<std::string> targets = cpu_targets();
  const bool runs = std::find(targets.begin(), targets.end(), study.target) != targets.end();
  throw store::StoreError(fmt::format(
      "study '{}' is of CPU target {}, and this process runs {}, which gives other bits; {}",
      study.name, study.target, cpu_target(),
      runs ? fmt::format("--target {} makes it run that one", study.target)
           : fmt::format("this CPU runs {}", fmt::join(targets, ", "))));
}

}  // namespace tandem::study
