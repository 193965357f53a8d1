// SPDX-License-Identifier: MIT
#include "llama/save.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <ostream>
#include <stdexcept>
#include <system_error>

#include "base/atomic_file.h"
#include "llama/config_json.h"
#include "llama/convert.h"
#include "llama/layout.h"
#include "tensors/safetensors.h"

namespace tandem::llama {
namespace {

namespace fs = std::filesystem;

/// The values of each changed weight, by its place in the checkpoint.
std::map<std::size_t, std::span<const float>> parts_of(const Checkpoint& checkpoint,
                                                       const Changes& changes) {
  std::map<std::size_t, std::span<const float>> parts;
  std::size_t at = 0;
  for (const std::string& name : changes.names) {
    std::size_t index = 0;
    while (index < checkpoint.weights().size() && checkpoint.weights()[index].name != name) ++index;
    if (index == checkpoint.weights().size()) {
      throw std::invalid_argument(
          fmt::format("{} has no weight {}", checkpoint.where(), in_quotes(name)));
    }
    const tensors::Tensor& weight = checkpoint.weights()[index];
    const std::size_t size = weight.bytes.size() / type_size(weight.type);
    if (size > changes.values.size() - at) {
      throw std::invalid_argument(
          fmt::format("{} values are too few for the changed weights", changes.values.size()));
    }
    if (!parts.emplace(index, changes.values.subspan(at, size)).second) {
      throw std::invalid_argument(fmt::format("the weight {} is there twice", in_quotes(name)));
    }
    at += size;
  }
  if (at != changes.values.size()) {
    throw std::invalid_argument(
        fmt::format("{} values for changed weights of {}", changes.values.size(), at));
  }
  return parts;
}

void write_tensors(const fs::path& path, const std::vector<tensors::Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  try {
    write_safetensors(path, tensors, metadata);
  } catch (const tensors::TensorFileError& error) {
    throw CheckpointError(error.what());
  }
}

std::vector<std::byte> narrowed(std::span<const float> values, const tensors::Tensor& weight,
                                const std::string& where) {
  constexpr float kLargestHalf = 65520;  // from here on it rounds to infinity
  if (weight.type == tensors::Type::f16) {
    for (const float value : values) {
      if (std::isfinite(value) && std::abs(value) >= kLargestHalf) {
        fail<CheckpointError>(where, "weight " + in_quotes(weight.name), fmt::format("{}", value),
                              "a value that float16 can hold");
      }
    }
  }
  return from_floats(values, weight.type);
}

/// In each head, elements that are turned together stand side by side; there, half a head apart.
std::vector<std::byte> rows_in_halves(std::span<const std::byte> from, std::size_t head_dim,
                                      std::size_t row_bytes) {
  std::vector<std::byte> to(from.size());
  const std::size_t rows = from.size() / row_bytes;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t inside = row % head_dim;
    const std::size_t pair = inside / 2;
    const std::size_t target = row - inside + pair + (inside % 2) * (head_dim / 2);
    std::memcpy(to.data() + target * row_bytes, from.data() + row * row_bytes, row_bytes);
  }
  return to;
}

}  // namespace

void save_changed(const fs::path& path, const Checkpoint& checkpoint, const Changes& changes) {
  std::vector<tensors::Tensor> tensors;
  for (const auto& [index, values] : parts_of(checkpoint, changes)) {
    tensors.push_back({checkpoint.file_names()[index], tensors::Type::f32,
                       checkpoint.weights()[index].shape, std::as_bytes(values)});
  }
  write_tensors(
      path, tensors,
      {{"format", "pt"}, {"tandem", "changed weights of a Llama"}, {kBaseHash, checkpoint.hash()}});
}

void save_merged(const fs::path& folder, const Checkpoint& checkpoint, const Changes& changes) {
  const auto parts = parts_of(checkpoint, changes);
  Config config = checkpoint.config();
  const bool reorder = !config.rope_halves;
  config.rope_halves = true;
  const std::vector<WeightEntry> entries = layout(config);
  std::vector<tensors::Tensor> tensors;
  std::list<std::vector<std::byte>> made;  // what is not as the checkpoint has it
  for (std::size_t i = 0; i < entries.size(); ++i) {
    tensors::Tensor tensor = checkpoint.weights()[i];
    const auto change = parts.find(i);
    if (change != parts.end()) {
      tensor.bytes = made.emplace_back(narrowed(change->second, tensor, folder.string()));
    }
    if (reorder && (tensor.name.ends_with(".wq") || tensor.name.ends_with(".wk"))) {
      tensor.bytes = made.emplace_back(
          rows_in_halves(tensor.bytes, config.head_dim, config.dim * type_size(tensor.type)));
    }
    tensor.name = entries[i].hugging_face;
    tensors.push_back(std::move(tensor));
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw CheckpointError("Cannot make " + folder.string() + ": " + error.message());
  const std::string text = config_text(config, checkpoint.weights().front().type);
  write_tensors(folder / "model.safetensors", tensors,
                {{"format", "pt"}, {"tandem", "a Llama with its changes"}});
  try {
    write_atomically(folder / "config.json", [&](std::ostream& stream) { stream << text; });
  } catch (const std::runtime_error& failure) {
    throw CheckpointError(failure.what());
  }
}

}  // namespace tandem::llama
