// SPDX-License-Identifier: MIT
// A Llama to be tuned: its checkpoint, its tokenizer, the weights that are trained and the texts as
// tokens, put together for the plug-in that computes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "llama/checkpoint.h"
#include "plugin/plugin.h"
#include "text/tokenizer.h"

namespace tandem::models {

struct LlamaOptions {
  std::filesystem::path checkpoint;  // a file of llama2.c, a folder of Hugging Face
  std::filesystem::path tokenizer;   // empty: the one beside the checkpoint
  std::filesystem::path changes;     // weights saved by an earlier run; empty: none
  std::vector<std::string> train;    // patterns of weights; empty: the last layer's attention
  std::size_t sequence = 0;          // most tokens of a sample; 0: as many as the model takes
  std::size_t micro_batch = 8;       // samples that go through the model together
};

/// "llama:PATH" and any of ",tokenizer=PATH", ",changes=PATH", ",train=PATTERN+PATTERN...",
/// ",sequence=N", ",micro_batch=N". Throws std::invalid_argument.
LlamaOptions parse_llama(const std::string& model);

struct Llama {
  std::shared_ptr<const llama::Checkpoint> checkpoint;  // with the changes
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::vector<std::string> trained;  // names of the weights, as the model's segments
  std::unique_ptr<plugin::LanguageModel> model;
  std::vector<std::string> notes;  // what was made of the texts
};

/// Files that are not where the options say are looked for below the folders of `search`. Throws
/// std::invalid_argument for options that do not go with the checkpoint, data::DataError for files
/// that are missing or damaged, and plugin::PluginError.
Llama make_llama(const LlamaOptions& options, const data::Task& task, double lambda,
                 const std::vector<std::filesystem::path>& search);

/// A prompt as the model reads it: the token that begins a text, then the tokens of the prompt.
std::vector<std::int32_t> prompt_tokens(const text::Tokenizer& tokenizer,
                                        const std::string& prompt);

}  // namespace tandem::models
