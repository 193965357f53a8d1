// SPDX-License-Identifier: MIT
#include "study/task_loader.h"

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "models/make_problem.h"

namespace tandem::study {
namespace {

/// Tasks that differ in lambda or model share their data.
std::string data_key(const TaskSpec& task) {
  std::string key = fmt::format("{} validation={}", task.data, task.validation);
  for (const auto& [name, value] : task.data_options) key += fmt::format(" {}={}", name, value);
  return key;
}

}  // namespace

std::shared_ptr<const data::Task> TaskLoader::data(const TaskSpec& task) {
  if (const std::string key = data_key(task); key != loaded_ || data_ == nullptr) {
    const Stopwatch watch(seconds_);
    problem_.reset();  // it holds the data too
    data_.reset();
    if (const auto given = given_.find(task.data); given != given_.end()) {
      data_ = given->second;
    } else {
      data_ = std::make_shared<data::Task>(
          data::load_task(task.data, {.search = data::search_folders(data_dir_),
                                      .validation = task.validation,
                                      .seed = seed_,
                                      .options = task.data_options}));
    }
    loaded_ = key;
  }
  return data_;
}

std::shared_ptr<const Problem> TaskLoader::problem(const TaskSpec& task) {
  if (const std::string name = task_name(task); name != made_ || problem_ == nullptr) {
    problem_.reset();
    problem_ = models::make_problem(task.model, data(task), task.lambda, task.loss,
                                    data::search_folders(data_dir_));
    made_ = name;
  }
  return problem_;
}

}  // namespace tandem::study
