// SPDX-License-Identifier: MIT
// Runs of `tandem finetune` in a run store: a study whose runs are added one at a time, so that
// `tandem report` compares whatever was tuned under one name.
#pragma once

#include <tandem/problem.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/dataset.h"
#include "train/trainer.h"

namespace tandem::cli {

struct RecordOptions {
  std::filesystem::path store;  // empty: nothing is recorded
  std::string name = "finetune";
  std::string label;  // empty: the optimizer's name
};

/// Throws std::invalid_argument where the study has a run of this label and seed already.
void check_record(const RecordOptions& options, const std::string& label, std::uint64_t seed);

struct Record {
  const RecordOptions& options;
  std::string label;
  const train::Setting& setting;
  const train::TrainOptions& train;
  const data::Task& data;
  std::string data_name;
  std::string model_name;
  const Problem& model;
  std::string checkpoint_hash;
  std::uint64_t seed = 0;
  const train::Member& member;
};

/// Throws store::StoreError, also where the study of that name tuned something else.
void write_record(const Record& record);

}  // namespace tandem::cli
