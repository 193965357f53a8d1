// SPDX-License-Identifier: MIT
#include "llama/hugging_face.h"

#include <fmt/format.h>

#include <set>

#include "base/suggest.h"
#include "llama/error.h"
#include "llama/layout.h"

namespace tandem::llama {
namespace {

/// Older files have the frequencies of rotary embedding, which follow from the configuration.
bool is_ignored(const std::string& name) { return name.ends_with("rotary_emb.inv_freq"); }

std::string near_text(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : fmt::format("; {} is the nearest", in_quotes(near));
}

void check_known(const StoredByName& stored, const std::vector<WeightEntry>& entries) {
  std::vector<std::string> names;
  for (const WeightEntry& entry : entries) names.push_back(entry.hugging_face);
  const std::set<std::string> known(names.begin(), names.end());
  for (const auto& [name, weight] : stored) {
    if (known.contains(name) || is_ignored(name)) continue;
    fail<CheckpointError>(weight.file, "tensor " + in_quotes(name),
                          "a tensor that this Llama has no place for",
                          fmt::format("only those of {} layers as config.json says{}",
                                      (entries.size() - 2) / kParts, near_text(name, names)));
  }
}

}  // namespace

void check_type(const tensors::Tensor& tensor, const std::string& file) {
  using tensors::Type;
  if (tensor.type == Type::f32 || tensor.type == Type::f16 || tensor.type == Type::bf16) return;
  fail<CheckpointError>(file, "tensor " + in_quotes(tensor.name),
                        std::string(type_name(tensor.type)), "F32, F16 or BF16");
}

std::vector<tensors::Tensor> select_weights(const Config& config, const StoredByName& stored,
                                            const std::string& where) {
  // Without this a configuration could ask for a list of any length.
  if (stored.size() < weight_count(config)) {
    std::size_t layers = 0;
    while (layers < config.layers &&
           stored.contains(fmt::format("model.layers.{}.input_layernorm.weight", layers))) {
      ++layers;
    }
    if (layers < config.layers) {
      fail<CheckpointError>(where, "",
                            fmt::format("{} layers in {} tensors", layers, stored.size()),
                            fmt::format("{} layers as config.json says", config.layers));
    }
  }
  const std::vector<WeightEntry> entries = layout(config);
  std::vector<tensors::Tensor> weights;
  weights.reserve(entries.size());
  for (const WeightEntry& entry : entries) {
    const auto found = stored.find(entry.hugging_face);
    if (found == stored.end()) {
      std::set<std::string> expected;
      for (const WeightEntry& other : entries) expected.insert(other.hugging_face);
      std::vector<std::string> names;  // of tensors that nobody asks for
      for (const auto& item : stored) {
        if (!expected.contains(item.first)) names.push_back(item.first);
      }
      fail<CheckpointError>(where, "", "no tensor " + in_quotes(entry.hugging_face),
                            fmt::format("one of shape {}{}", shape_text(entry.shape),
                                        near_text(entry.hugging_face, names)));
    }
    const auto& [tensor, file] = found->second;
    const std::string place = "tensor " + in_quotes(tensor.name);
    if (tensor.shape != entry.shape) {
      fail<CheckpointError>(file, place, "the shape " + shape_text(tensor.shape),
                            shape_text(entry.shape) + ", as config.json says");
    }
    check_type(tensor, file);
    weights.push_back({entry.name, tensor.type, tensor.shape, tensor.bytes});
  }
  check_known(stored, entries);
  return weights;
}

}  // namespace tandem::llama
