// SPDX-License-Identifier: MIT
// For tests: small checkpoints of every kind, a folder for them, and the check of a message.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "llama/checkpoint.h"
#include "llama/config_json.h"
#include "llama/layout.h"
#include "tensors/safetensors.h"
#include "tests/temp_folder.h"

namespace tandem::llama {

/// Two layers, grouped queries, an odd vocabulary.
inline Config small_config() {
  Config config;
  config.dim = 8;
  config.hidden = 12;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 2;
  config.vocabulary = 11;
  config.sequence = 16;
  return config;
}

/// A file of llama2.c whose weights count 1, 2, 3, ... in the order of the file.
inline std::string llama2c_file(const Config& config) {
  const auto size = [](std::size_t value) { return static_cast<std::int32_t>(value); };
  const std::array<std::int32_t, 7> header{
      size(config.dim),      size(config.hidden),
      size(config.layers),   size(config.heads),
      size(config.kv_heads), config.tied ? size(config.vocabulary) : -size(config.vocabulary),
      size(config.sequence)};
  std::size_t count = config.sequence * config.head_dim;
  for (const WeightEntry& entry : layout(config)) count += entry.elements();
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  std::string file(sizeof header + count * sizeof(float), '\0');
  std::memcpy(file.data(), header.data(), sizeof header);
  std::memcpy(file.data() + sizeof header, values.data(), count * sizeof(float));
  return file;
}

/// Tensors of Hugging Face with random elements, and the memory of them.
struct MadeTensors {
  std::vector<std::vector<std::byte>> memory;
  std::vector<tensors::Tensor> tensors;
};

inline MadeTensors made_tensors(const Config& config, tensors::Type type, std::uint64_t seed) {
  MadeTensors made;
  Random random(seed, 0);
  for (const WeightEntry& entry : layout(config)) {
    std::vector<std::byte> bytes(entry.elements() * type_size(type));
    // The upper byte stays 0: small numbers, whatever the type.
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const bool upper = i % type_size(type) == type_size(type) - 1;
      bytes[i] = static_cast<std::byte>(upper ? 0 : random.below(256));
    }
    made.memory.push_back(std::move(bytes));
    made.tensors.push_back({entry.hugging_face, type, entry.shape, made.memory.back()});
  }
  return made;
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Runs `work`, which must throw an Error whose message has all of these parts.
template <class Error = CheckpointError, class Work>
void expect_refused(Work work, const std::vector<std::string>& parts) {
  try {
    work();
    ADD_FAILURE() << "no error, expected one with " << ::testing::PrintToString(parts);
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' not in: " << message;
    }
  }
}

class CheckpointTest : public ::testing::Test {
 protected:
  /// config.json of the configuration, as Hugging Face has it.
  void write_config(Config config, tensors::Type type = tensors::Type::f32) const {
    write_file(folder_ / "config.json", config_text(config, type));
  }
  void write_weights(const std::vector<tensors::Tensor>& tensors,
                     const std::string& name = "model.safetensors") const {
    write_safetensors(folder_ / name, tensors, {});
  }

  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
};

}  // namespace tandem::llama
