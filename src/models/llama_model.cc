// SPDX-License-Identifier: MIT
#include "models/llama_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/suggest.h"
#include "llama/choose.h"
#include "plugin/load.h"

namespace tandem::models {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::size_t parse_count(const std::string& model, const std::string& name,
                        const std::string& text) {
  std::size_t count = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), count);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || count == 0) {
    throw std::invalid_argument(fmt::format(
        "Invalid model '{}': {} is '{}', expected a number of at least 1", model, name, text));
  }
  return count;
}

/// The path as it is, or below a folder of the search.
fs::path locate(const fs::path& path, const std::vector<fs::path>& search) {
  std::error_code error;
  if (path.is_absolute() || fs::exists(path, error)) return path;
  for (const fs::path& folder : search) {
    for (const fs::path& candidate : {folder / "llama" / path, folder / path}) {
      if (fs::exists(candidate, error)) return candidate;
    }
  }
  return path;  // whoever opens it says that it is not there
}

fs::path find_tokenizer(const fs::path& checkpoint, std::size_t vocabulary) {
  const fs::path folder = fs::is_directory(checkpoint) ? checkpoint : checkpoint.parent_path();
  const std::vector<std::string> names = {fmt::format("tok{}.bin", vocabulary), "tokenizer.model",
                                          "tokenizer.bin"};
  for (const std::string& name : names) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return folder / name;
  }
  throw std::invalid_argument(
      fmt::format("{}: no tokenizer beside it, expected one of {}; --tokenizer names another place",
                  checkpoint.string(), fmt::join(names, ", ")));
}

/// Files of a model that are missing or damaged are data like others.
template <class Body>
auto as_data_error(const Body& body) {
  try {
    return body();
  } catch (const llama::CheckpointError& error) {
    throw data::DataError(error.what());
  } catch (const text::TokenizerError& error) {
    throw data::DataError(error.what());
  }
}

std::shared_ptr<const llama::Checkpoint> open_checkpoint(const fs::path& path,
                                                         const fs::path& changes,
                                                         const std::vector<fs::path>& search) {
  return as_data_error([&] {
    llama::Checkpoint checkpoint = llama::Checkpoint::open(path);
    if (!changes.empty()) checkpoint.apply_changes(locate(changes, search));
    return std::make_shared<const llama::Checkpoint>(std::move(checkpoint));
  });
}

/// Texts as tokens; what is longer than `most` loses its end.
struct Tokens {
  std::vector<plugin::TokenSample> samples;
  std::size_t cut = 0;
  std::size_t left_out = 0;  // prompts that leave no room for a response
};

Tokens tokens_of(const std::vector<data::Text>& texts, const text::Tokenizer& tokenizer,
                 std::size_t most) {
  Tokens tokens;
  for (const data::Text& text : texts) {
    plugin::TokenSample sample;
    sample.tokens = prompt_tokens(tokenizer, text.prompt);
    sample.response = sample.tokens.size();
    if (sample.response >= most) {
      ++tokens.left_out;
      continue;
    }
    const std::vector<std::int32_t> response = tokenizer.encode(text.response);
    sample.tokens.insert(sample.tokens.end(), response.begin(), response.end());
    sample.tokens.push_back(tokenizer.eos());
    if (sample.tokens.size() > most) {
      sample.tokens.resize(most);
      ++tokens.cut;
    }
    tokens.samples.push_back(std::move(sample));
  }
  return tokens;
}

std::string note_of(const char* part, const Tokens& tokens, std::size_t most) {
  std::size_t all = 0;
  std::size_t learned = 0;
  for (const plugin::TokenSample& sample : tokens.samples) {
    all += sample.tokens.size();
    learned += sample.tokens.size() - sample.response;
  }
  std::string note = fmt::format("{}: {} samples, {} tokens, {} of them in responses", part,
                                 tokens.samples.size(), all, learned);
  if (tokens.cut > 0) note += fmt::format("; {} responses cut at {} tokens", tokens.cut, most);
  if (tokens.left_out > 0) {
    note += fmt::format("; {} prompts of {} tokens or more left out", tokens.left_out, most);
  }
  return note;
}

}  // namespace

LlamaOptions parse_llama(const std::string& model) {
  LlamaOptions options;
  const std::vector<std::string> parts =
      split(std::string_view(model).substr(std::string_view("llama:").size()), ',');
  options.checkpoint = parts.front();
  if (options.checkpoint.empty()) {
    throw std::invalid_argument(
        fmt::format("Invalid model '{}', expected llama:CHECKPOINT", model));
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string name = parts[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : parts[i].substr(equals + 1);
    const std::vector<std::string> known = {"tokenizer", "changes", "train", "sequence",
                                            "micro_batch"};
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw std::invalid_argument(fmt::format("Invalid model '{}': unknown option '{}'{}", model,
                                              name, suggestion(name, known)));
    }
    if (value.empty()) {
      throw std::invalid_argument(
          fmt::format("Invalid model '{}': {} has no value, expected {}=VALUE", model, name, name));
    }
    if (name == "tokenizer") options.tokenizer = value;
    if (name == "changes") options.changes = value;
    if (name == "train") options.train = split(value, '+');
    if (name == "sequence") options.sequence = parse_count(model, name, value);
    if (name == "micro_batch") options.micro_batch = parse_count(model, name, value);
  }
  return options;
}

std::vector<std::int32_t> prompt_tokens(const text::Tokenizer& tokenizer,
                                        const std::string& prompt) {
  std::vector<std::int32_t> tokens{tokenizer.bos()};
  const std::vector<std::int32_t> rest = tokenizer.encode(prompt);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

Llama make_llama(const LlamaOptions& options, const data::Task& task, double lambda,
                 const std::vector<fs::path>& search) {
  if (task.train.texts.empty()) {
    throw std::invalid_argument(fmt::format(
        "A Llama is tuned on texts, and {} has none: it goes with --data alpaca", task.train.name));
  }
  Llama llama;
  const fs::path path = locate(options.checkpoint, search);
  llama.checkpoint = open_checkpoint(path, options.changes, search);
  const llama::Config& config = llama.checkpoint->config();
  const std::size_t sequence = options.sequence > 0 ? options.sequence : config.sequence;
  if (sequence > config.sequence) {
    throw std::invalid_argument(fmt::format("Invalid sequence: {}, and {} takes at most {} tokens",
                                            sequence, path.string(), config.sequence));
  }
  const fs::path tokenizer = options.tokenizer.empty() ? find_tokenizer(path, config.vocabulary)
                                                       : locate(options.tokenizer, search);
  llama.tokenizer =
      as_data_error([&] { return text::open_tokenizer(tokenizer, config.vocabulary); });
  llama.trained = llama::choose_weights(
      *llama.checkpoint, options.train.empty() ? llama::default_patterns(config) : options.train);

  const Tokens train = tokens_of(task.train.texts, *llama.tokenizer, sequence);
  Tokens validation;
  llama.notes = {note_of("training", train, sequence)};
  if (task.validation) {
    validation = tokens_of(task.validation->texts, *llama.tokenizer, sequence);
    llama.notes.push_back(note_of("validation", validation, sequence));
  }
  if (train.samples.empty()) {
    throw std::invalid_argument(
        fmt::format("{}: every prompt has {} tokens or more, which leaves no room for a response",
                    task.train.name, sequence));
  }
  llama.model = plugin::load_torch().deep_models.llama({.config = config,
                                                        .weights = llama.checkpoint->weights(),
                                                        .owner = llama.checkpoint->owner(),
                                                        .trained = llama.trained,
                                                        .train = train.samples,
                                                        .validation = validation.samples,
                                                        .micro_batch = options.micro_batch,
                                                        .lambda = lambda});
  return llama;
}

}  // namespace tandem::models
