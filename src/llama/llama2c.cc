// SPDX-License-Identifier: MIT
#include "llama/llama2c.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "llama/error.h"
#include "llama/layout.h"
#include "llama/limits.h"

namespace tandem::llama {
namespace {

constexpr std::size_t kNumbers = 7;
constexpr std::size_t kHeaderSize = kNumbers * sizeof(std::int32_t);
constexpr std::array<const char*, kNumbers> kPlaces{
    "byte 0 (dim)",         "byte 4 (hidden_dim)",  "byte 8 (n_layers)", "byte 12 (n_heads)",
    "byte 16 (n_kv_heads)", "byte 20 (vocab_size)", "byte 24 (seq_len)"};
constexpr FieldNames kNames{.dim = kPlaces[0],
                            .hidden = kPlaces[1],
                            .layers = kPlaces[2],
                            .heads = kPlaces[3],
                            .kv_heads = kPlaces[4],
                            .head_dim = "dim / n_heads",
                            .vocabulary = kPlaces[5],
                            .sequence = kPlaces[6]};

Config read_header(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < kHeaderSize) {
    fail<CheckpointError>(where, "", fmt::format("{} bytes", bytes.size()),
                          fmt::format("a header of {} bytes", kHeaderSize));
  }
  std::array<std::int32_t, kNumbers> numbers{};
  std::memcpy(numbers.data(), bytes.data(), kHeaderSize);
  // A negative vocabulary says that the output has weights of its own.
  constexpr std::size_t kVocabulary = 5;
  const std::int64_t vocabulary = numbers[kVocabulary];
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (numbers[i] == 0 || (numbers[i] < 0 && i != kVocabulary)) {
      fail<CheckpointError>(where, kPlaces[i], fmt::format("{}", numbers[i]), "a number from 1 on");
    }
  }
  Config config;
  config.dim = static_cast<std::size_t>(numbers[0]);
  config.hidden = static_cast<std::size_t>(numbers[1]);
  config.layers = static_cast<std::size_t>(numbers[2]);
  config.heads = static_cast<std::size_t>(numbers[3]);
  config.kv_heads = static_cast<std::size_t>(numbers[4]);
  config.vocabulary = static_cast<std::size_t>(vocabulary < 0 ? -vocabulary : vocabulary);
  config.sequence = static_cast<std::size_t>(numbers[6]);
  config.tied = vocabulary > 0;
  if (config.dim % config.heads != 0) {
    fail<CheckpointError>(where, kNames.heads, fmt::format("{}", config.heads),
                          fmt::format("a divisor of dim {}", config.dim));
  }
  config.head_dim = config.dim / config.heads;
  check_config(config, kNames, where);
  return config;
}

std::uint64_t elements(const std::vector<std::uint64_t>& shape) {
  std::uint64_t product = 1;
  for (const std::uint64_t size : shape) product *= size;
  return product;
}

/// Cosines and sines, which are computed instead.
std::uint64_t table_elements(const Config& config) {
  return std::uint64_t{config.sequence} * config.head_dim;
}

/// check_config() keeps all of this below 2^63.
std::uint64_t file_size(const Config& config) {
  std::uint64_t count = std::uint64_t{config.vocabulary} * config.dim * (config.tied ? 1 : 2);
  for (std::size_t part = 0; part < kParts; ++part) {
    count += config.layers * elements(part_shape(config, static_cast<Part>(part)));
  }
  count += config.dim + table_elements(config);
  return kHeaderSize + count * sizeof(float);
}

}  // namespace

Llama2c parse_llama2c(std::span<const std::byte> bytes, const std::string& where) {
  Llama2c result{.config = read_header(bytes, where), .weights = {}};
  const Config& config = result.config;
  const std::uint64_t expected = file_size(config);
  if (bytes.size() != expected) {
    fail<CheckpointError>(where, "", fmt::format("{} bytes", bytes.size()),
                          fmt::format("{} for {} layers of {} and a vocabulary of {}{}", expected,
                                      config.layers, config.dim, config.vocabulary,
                                      bytes.size() < expected ? ": the file was cut off" : ""));
  }
  const std::vector<WeightEntry> entries = layout(config);
  result.weights.resize(entries.size());
  std::size_t at = kHeaderSize;
  const auto take = [&](std::size_t index) {
    const WeightEntry& entry = entries[index];
    const std::size_t size = entry.elements() * sizeof(float);
    result.weights[index] = {entry.name, tensors::Type::f32, entry.shape, bytes.subspan(at, size)};
    at += size;
  };
  take(kEmbeddingIndex);
  for (const Part part : {Part::attention_norm, Part::wq, Part::wk, Part::wv, Part::wo,
                          Part::ffn_norm, Part::w1, Part::w2, Part::w3}) {
    for (std::size_t layer = 0; layer < config.layers; ++layer) take(weight_index(layer, part));
  }
  take(norm_index(config));
  at += table_elements(config) * sizeof(float);
  if (!config.tied) take(output_index(config));
  return result;
}

}  // namespace tandem::llama
