// SPDX-License-Identifier: MIT
#include "llama/config_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/suggest.h"
#include "llama/error.h"
#include "llama/json_text.h"
#include "llama/limits.h"

namespace tandem::llama {
namespace {

using Json = nlohmann::json;

constexpr FieldNames kNames{.dim = "hidden_size",
                            .hidden = "intermediate_size",
                            .layers = "num_hidden_layers",
                            .heads = "num_attention_heads",
                            .kv_heads = "num_key_value_heads",
                            .head_dim = "head_dim",
                            .vocabulary = "vocab_size",
                            .sequence = "max_position_embeddings"};

/// A config.json whose fields are asked for one by one; null counts as absent.
class Fields {
 public:
  Fields(const Json& object, const std::string& where) : object_(object), where_(where) {}

  const Json* find(std::string_view key) const {
    const auto found = object_.find(std::string(key));
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::size_t size(std::string_view key, std::optional<std::size_t> otherwise = {}) const {
    const Json* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) missing(key);
    if (!value->is_number_unsigned())
      fail<CheckpointError>(where_, key, shown(*value), "a whole number from 1 on");
    return value->get<std::size_t>();
  }

  double positive(std::string_view key, std::optional<double> otherwise = {}) const {
    const Json* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) missing(key);
    if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0) {
      fail<CheckpointError>(where_, key, shown(*value), "a number above 0");
    }
    return value->get<double>();
  }

  bool flag(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fail<CheckpointError>(where_, key, shown(*value), "true or false");
    return value->get<bool>();
  }

  /// The one text that is supported.
  void expect(std::string_view key, std::string_view text) const {
    const Json* value = find(key);
    if (value == nullptr) missing(key);
    if (!value->is_string() || value->get_ref<const std::string&>() != text) {
      fail<CheckpointError>(where_, key, shown(*value),
                            fmt::format("'{}': no other is supported", text));
    }
  }

  void refuse(std::string_view key, std::string_view what) const {
    const Json* value = find(key);
    if (value == nullptr || (value->is_boolean() && !value->get<bool>())) return;
    fail<CheckpointError>(where_, key, shown(*value), fmt::format("none: {} not supported", what));
  }

 private:
  [[noreturn]] void missing(std::string_view key) const {
    std::vector<std::string> keys;
    for (const auto& item : object_.items()) keys.push_back(item.key());
    const std::string near = nearest(key, keys);
    fail<CheckpointError>(where_, "", "no key " + in_quotes(key),
                          near.empty()
                              ? "the configuration of a Llama"
                              : fmt::format("it; {} is the nearest there", in_quotes(near)));
  }

  const Json& object_;
  const std::string& where_;
};

/// Newer files have it in an object with the kind of rotary embedding.
double rope_theta(const Fields& fields, const std::string& where) {
  constexpr double kUsual = 10000;
  const Json* parameters = fields.find("rope_parameters");
  if (parameters == nullptr) return fields.positive("rope_theta", kUsual);
  if (!parameters->is_object())
    fail<CheckpointError>(where, "rope_parameters", shown(*parameters), "an object");
  const std::string inside = where + ", rope_parameters";
  const Fields nested(*parameters, inside);
  if (nested.find("rope_type") != nullptr) nested.expect("rope_type", "default");
  return nested.positive("rope_theta", fields.positive("rope_theta", kUsual));
}

}  // namespace

Config parse_config(std::string_view text, const std::string& where) {
  const Json object = parse_object(text, where);
  const Fields fields(object, where);
  fields.expect("model_type", "llama");
  fields.expect("hidden_act", "silu");
  fields.refuse("rope_scaling", "scaled rotary embedding is");
  fields.refuse("attention_bias", "biases are");
  fields.refuse("mlp_bias", "biases are");
  fields.refuse("quantization_config", "quantized weights are");

  Config config;
  config.dim = fields.size(kNames.dim);
  config.hidden = fields.size(kNames.hidden);
  config.layers = fields.size(kNames.layers);
  config.heads = fields.size(kNames.heads);
  config.kv_heads = fields.size(kNames.kv_heads, config.heads);
  if (fields.find(kNames.head_dim) != nullptr) {
    config.head_dim = fields.size(kNames.head_dim);
  } else {
    if (config.heads == 0 || config.dim % config.heads != 0) {
      fail<CheckpointError>(
          where, kNames.heads, fmt::format("{}", config.heads),
          fmt::format("a divisor of {} {}, or a head_dim", kNames.dim, config.dim));
    }
    config.head_dim = config.dim / config.heads;
  }
  config.vocabulary = fields.size(kNames.vocabulary);
  config.sequence = fields.size(kNames.sequence);
  config.norm_epsilon = fields.positive("rms_norm_eps");
  config.rope_theta = rope_theta(fields, where);
  config.tied = fields.flag("tie_word_embeddings");
  config.rope_halves = true;
  check_config(config, kNames, where);
  return config;
}

std::string config_text(const Config& config, tensors::Type type) {
  Json object;
  object["architectures"] = {"LlamaForCausalLM"};
  object["model_type"] = "llama";
  object["hidden_act"] = "silu";
  object[kNames.dim.data()] = config.dim;
  object[kNames.hidden.data()] = config.hidden;
  object[kNames.layers.data()] = config.layers;
  object[kNames.heads.data()] = config.heads;
  object[kNames.kv_heads.data()] = config.kv_heads;
  object[kNames.head_dim.data()] = config.head_dim;
  object[kNames.vocabulary.data()] = config.vocabulary;
  object[kNames.sequence.data()] = config.sequence;
  object["rms_norm_eps"] = config.norm_epsilon;
  object["rope_theta"] = config.rope_theta;
  object["rope_scaling"] = nullptr;
  object["tie_word_embeddings"] = config.tied;
  object["attention_bias"] = false;
  object["torch_dtype"] = type == tensors::Type::f16    ? "float16"
                          : type == tensors::Type::bf16 ? "bfloat16"
                                                        : "float32";
  return object.dump(2) + "\n";
}

}  // namespace tandem::llama
