// SPDX-License-Identifier: MIT
// Models by name.
#pragma once

#include <tandem/problem.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "problems/loss.h"

namespace tandem::models {

/// Throws std::invalid_argument for a name that make_problem() does not know, without looking at
/// data, checkpoints or plug-ins.
void check_model(const std::string& model);

/// "logistic"; "ffn:100" and "ffn:100,50" for hidden layers; "resnet18", "resnet50" and
/// "resnet18:width=8" (resnet_model.h); and "llama:CHECKPOINT" with options (llama_model.h), looked
/// for below `search` too. The last two need the plug-in with LibTorch. Throws
/// std::invalid_argument for anything else, and where the model does not go with the data or the
/// loss: deep models have cross entropy alone.
std::unique_ptr<Problem> make_problem(const std::string& model,
                                      std::shared_ptr<const data::Task> task, double lambda,
                                      problems::Loss loss = problems::Loss::cross_entropy,
                                      const std::vector<std::filesystem::path>& search = {});

/// Throws std::invalid_argument where the model does not have the loss.
void check_loss(const std::string& model, problems::Loss loss);

/// The model's kind without what follows a colon: "ffn".
std::string model_kind(const std::string& model);

}  // namespace tandem::models
