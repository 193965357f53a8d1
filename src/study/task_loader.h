// SPDX-License-Identifier: MIT
// The data set and the problem in use. Studies go from task to task: one after another fits in
// memory where all of them do not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "study/study_file.h"

namespace tandem::study {

/// Data sets that are in memory already, by the name that tasks have for them.
using GivenData = std::map<std::string, std::shared_ptr<const data::Task>>;

class TaskLoader {
 public:
  /// `seed` decides which rows are for validation.
  TaskLoader(std::filesystem::path data_dir, GivenData given, std::uint64_t seed)
      : data_dir_(std::move(data_dir)), given_(std::move(given)), seed_(seed) {}

  /// Read or made anew unless it is of the task before. Throws std::invalid_argument and
  /// data::DataError.
  std::shared_ptr<const data::Task> data(const TaskSpec& task);
  std::shared_ptr<const Problem> problem(const TaskSpec& task);
  /// Spent so far on reading data.
  double seconds() const { return seconds_; }

 private:
  std::filesystem::path data_dir_;
  GivenData given_;
  std::uint64_t seed_;
  std::string loaded_;
  std::shared_ptr<const data::Task> data_;
  std::string made_;
  std::shared_ptr<const Problem> problem_;
  double seconds_ = 0;
};

}  // namespace tandem::study
