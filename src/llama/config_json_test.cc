// SPDX-License-Identifier: MIT
#include "llama/config_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "llama/test_checkpoints.h"

namespace tandem::llama {
namespace {

using Json = nlohmann::json;

Json good() { return Json::parse(config_text(small_config(), tensors::Type::bf16)); }

Config parse(const Json& object) { return parse_config(object.dump(), "config.json"); }

void expect_bad(const std::string& key, const Json& value, const std::vector<std::string>& parts) {
  Json object = good();
  object[key] = value;
  SCOPED_TRACE(key + " = " + value.dump());
  expect_refused([&] { parse(object); }, parts);
}

TEST(LlamaConfig, IsReadAsItIsWritten) {
  Config config = small_config();
  config.tied = true;
  config.norm_epsilon = 1e-6;
  config.rope_theta = 500000;
  const Config read = parse_config(config_text(config, tensors::Type::f16), "config.json");
  EXPECT_EQ(read.dim, 8U);
  EXPECT_EQ(read.hidden, 12U);
  EXPECT_EQ(read.layers, 2U);
  EXPECT_EQ(read.heads, 4U);
  EXPECT_EQ(read.kv_heads, 2U);
  EXPECT_EQ(read.head_dim, 2U);
  EXPECT_EQ(read.vocabulary, 11U);
  EXPECT_EQ(read.sequence, 16U);
  EXPECT_EQ(read.norm_epsilon, 1e-6);
  EXPECT_EQ(read.rope_theta, 500000);
  EXPECT_TRUE(read.tied);
  EXPECT_TRUE(read.rope_halves);
}

TEST(LlamaConfig, HasDefaults) {
  Json object = good();
  for (const char* key : {"num_key_value_heads", "head_dim", "rope_theta", "tie_word_embeddings",
                          "attention_bias", "rope_scaling"}) {
    object.erase(key);
  }
  const Config config = parse(object);
  EXPECT_EQ(config.kv_heads, config.heads);
  EXPECT_EQ(config.head_dim, 2U);
  EXPECT_EQ(config.rope_theta, 10000);
  EXPECT_FALSE(config.tied);
}

TEST(LlamaConfig, TakesNewerRopeParameters) {
  Json object = good();
  object.erase("rope_theta");
  object["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 123.0}};
  EXPECT_EQ(parse(object).rope_theta, 123);
  object["rope_parameters"]["rope_type"] = "llama3";
  expect_refused([&] { parse(object); }, {"rope_parameters, rope_type", "'llama3'", "'default'"});
}

TEST(LlamaConfig, MissesNoKey) {
  for (const char* key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "vocab_size", "max_position_embeddings", "rms_norm_eps", "model_type", "hidden_act"}) {
    Json object = good();
    object.erase(key);
    expect_refused([&] { parse(object); }, {"config.json", std::string("no key '") + key});
    object[key] = nullptr;
    expect_refused([&] { parse(object); }, {std::string("no key '") + key});
  }
  Json misspelt = good();
  misspelt["vocab_sise"] = misspelt["vocab_size"];
  misspelt.erase("vocab_size");
  expect_refused([&] { parse(misspelt); }, {"'vocab_sise' is the nearest"});
}

TEST(LlamaConfig, RefusesValuesOfWrongTypesAndSizes) {
  for (const char* key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings"}) {
    expect_bad(key, 0, {"config.json", "expected"});
    expect_bad(key, -1, {key, "found -1", "a whole number"});
    expect_bad(key, 8.0, {key, "found 8.0"});
    expect_bad(key, "8", {key, "found '8'"});
    expect_bad(key, Json::array({8}), {key, "found an array"});
    expect_bad(key, true, {key, "found true"});
    expect_bad(key, 1ULL << 32, {"config.json", "expected"});
    expect_bad(key, ~0ULL, {"config.json", "expected"});
  }
  for (const char* key : {"rms_norm_eps", "rope_theta"}) {
    expect_bad(key, 0, {key, "a number above 0"});
    expect_bad(key, -1e-5, {key, "a number above 0"});
    expect_bad(key, "x", {key, "found 'x'"});
  }
  expect_bad("tie_word_embeddings", 1, {"true or false"});
  expect_bad("num_attention_heads", 3, {"num_key_value_heads", "a divisor of the 3 heads"});
  expect_bad("num_key_value_heads", 3, {"num_key_value_heads", "a divisor of the 4 heads"});
  expect_bad("head_dim", 3, {"head_dim", "an even number"});
  expect_bad("head_dim", 1 << 22, {"num_attention_heads x head_dim"});
  Json object = good();
  object.erase("head_dim");
  object["hidden_size"] = 9;
  expect_refused([&] { parse(object); }, {"num_attention_heads", "a divisor of hidden_size 9"});
  object["num_attention_heads"] = 0;
  expect_refused([&] { parse(object); }, {"num_attention_heads", "found 0"});
}

TEST(LlamaConfig, RefusesWhatTheModelCannotDo) {
  expect_bad("model_type", "mistral", {"model_type", "found 'mistral'", "'llama'"});
  expect_bad("model_type", 3, {"model_type", "found 3"});
  expect_bad("hidden_act", "gelu", {"hidden_act", "found 'gelu'", "'silu'"});
  expect_bad("attention_bias", true, {"attention_bias", "biases are not supported"});
  expect_bad("mlp_bias", true, {"mlp_bias", "biases are not supported"});
  expect_bad("rope_scaling", {{"type", "linear"}}, {"rope_scaling", "not supported"});
  expect_bad("quantization_config", Json::object(), {"quantized weights are not supported"});
}

TEST(LlamaConfig, RefusesWhatIsNoJson) {
  const std::string text = config_text(small_config(), tensors::Type::f32);
  const std::size_t end = text.rfind('}');
  for (std::size_t kept = 0; kept <= end; ++kept) {
    expect_refused([&] { parse_config(text.substr(0, kept), "cut.json"); }, {"cut.json"});
  }
  expect_refused([&] { parse_config("[1]", "a.json"); }, {"found an array", "an object"});
  expect_refused([&] { parse_config(text + '\0', "a.json"); }, {"a zero byte"});
  expect_refused([&] { parse_config("{\"hidden_size\": 1e999}", "a.json"); }, {"out of range"});
  expect_refused([&] { parse_config(std::string(100000, '['), "a.json"); }, {"not JSON"});
}

}  // namespace
}  // namespace tandem::llama
