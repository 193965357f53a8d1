// SPDX-License-Identifier: MIT
#include "llama/checkpoint.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/suggest.h"
#include "llama/config_json.h"
#include "llama/hugging_face.h"
#include "llama/index_json.h"
#include "llama/layout.h"
#include "llama/llama2c.h"
#include "tensors/mapped_file.h"

namespace tandem::llama {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "config.json";
constexpr const char* kWeightsFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

/// Errors of tensor files are errors of the checkpoint.
template <class Work>
auto as_checkpoint(const Work& work) {
  try {
    return work();
  } catch (const tensors::TensorFileError& error) {
    throw CheckpointError(error.what());
  }
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string read_text(const fs::path& path, std::size_t most) {
  const tensors::MappedFile file(path);
  if (file.bytes().size() > most) {
    fail<CheckpointError>(path.string(), "", fmt::format("{} bytes", file.bytes().size()),
                          fmt::format("at most {}", most));
  }
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// The files that a checkpoint stands on. They do not move: tensors look into them.
struct Files {
  std::vector<std::unique_ptr<tensors::SafetensorsFile>> files;
  std::shared_ptr<const void> before;  // where these change another checkpoint

  const tensors::SafetensorsFile& add(const fs::path& path) {
    files.push_back(std::make_unique<tensors::SafetensorsFile>(path));
    return *files.back();
  }
};

StoredByName read_single(const fs::path& path, Files& files) {
  StoredByName stored;
  for (const tensors::Tensor& tensor : files.add(path).tensors()) {
    stored.emplace(tensor.name, Stored{tensor, path.string()});
  }
  return stored;
}

StoredByName read_sharded(const fs::path& index, Files& files) {
  constexpr std::size_t kLongestIndex = std::size_t{64} << 20;
  const std::string where = index.string();
  const auto places = parse_index(read_text(index, kLongestIndex), where);
  StoredByName stored;
  std::set<std::string> names;
  for (const auto& item : places) names.insert(item.second);
  for (const std::string& name : names) files.add(index.parent_path() / name);
  auto file = files.files.begin();
  for (const std::string& name : names) {
    const fs::path path = index.parent_path() / name;
    for (const tensors::Tensor& tensor : (*file++)->tensors()) {
      const auto place = places.find(tensor.name);
      if (place == places.end() || place->second != name) {
        fail<CheckpointError>(path.string(), "tensor " + in_quotes(tensor.name), "a tensor",
                              fmt::format("none of that name: {} does not place it here", where));
      }
      stored.emplace(tensor.name, Stored{tensor, path.string()});
    }
  }
  for (const auto& [tensor, name] : places) {
    if (stored.contains(tensor)) continue;
    fail<CheckpointError>((index.parent_path() / name).string(), "",
                          "no tensor " + in_quotes(tensor),
                          fmt::format("it there, as {} says", where));
  }
  return stored;
}

class Hash {
 public:
  Hash() { XXH3_64bits_reset(&state_); }
  void add(const void* data, std::size_t size) { XXH3_64bits_update(&state_, data, size); }
  void add(const std::string& text) { add(text.data(), text.size() + 1); }
  std::string text() const { return fmt::format("{:016x}", XXH3_64bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  return as_checkpoint([&] {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      fail<CheckpointError>(
          path.string(), "", "no such file or folder",
          "a .bin file of llama2.c, a .safetensors file, or a folder of Hugging Face");
    }
    if (fs::is_directory(status)) {
      if (is_there(path / kWeightsFile)) {
        return open_hugging_face(path / kConfigFile, path / kWeightsFile);
      }
      if (is_there(path / kIndexFile)) {
        return open_hugging_face(path / kConfigFile, path / kIndexFile);
      }
      fail<CheckpointError>(path.string(), "", "a folder without weights",
                            fmt::format("{} or {} in it", kWeightsFile, kIndexFile));
    }
    if (path.filename() == kConfigFile) return open(path.parent_path());
    const std::string name = path.filename().string();
    if (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) {
      return open_hugging_face(path.parent_path() / kConfigFile, path);
    }
    return open_llama2c(path);
  });
}

Checkpoint Checkpoint::open_llama2c(const fs::path& path) {
  const auto file = std::make_shared<const tensors::MappedFile>(path);
  Llama2c content = parse_llama2c(file->bytes(), path.string());
  Checkpoint checkpoint;
  checkpoint.config_ = content.config;
  checkpoint.weights_ = std::move(content.weights);
  for (const tensors::Tensor& weight : checkpoint.weights_) {
    checkpoint.file_names_.push_back(weight.name);
  }
  checkpoint.owner_ = file;
  checkpoint.where_ = path.string();
  checkpoint.llama2c_ = true;
  return checkpoint;
}

Checkpoint Checkpoint::open_hugging_face(const fs::path& config, const fs::path& weights) {
  constexpr std::size_t kLongestConfig = std::size_t{1} << 20;
  Checkpoint checkpoint;
  checkpoint.where_ = weights.string();
  checkpoint.config_ = parse_config(read_text(config, kLongestConfig), config.string());
  const auto files = std::make_shared<Files>();
  const StoredByName stored =
      weights.extension() == ".json" ? read_sharded(weights, *files) : read_single(weights, *files);
  checkpoint.weights_ = select_weights(checkpoint.config_, stored, checkpoint.where_);
  for (const WeightEntry& entry : layout(checkpoint.config_)) {
    checkpoint.file_names_.push_back(entry.hugging_face);
  }
  checkpoint.owner_ = files;
  return checkpoint;
}

std::size_t Checkpoint::index_of(const std::string& name, const std::string& place) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i].name == name || file_names_[i] == name) return i;
    known.push_back(file_names_[i]);
    if (!llama2c_) known.push_back(weights_[i].name);
  }
  const std::string near = nearest(name, known);
  fail<CheckpointError>(place, "", "the weight " + in_quotes(name),
                        fmt::format("one of {}{}", where_,
                                    near.empty() ? "" : fmt::format(", as {}", in_quotes(near))));
}

std::string Checkpoint::hash() const {
  Hash hash;
  hash.add(config_text(config_, tensors::Type::f32));
  hash.add(config_.rope_halves ? "halves" : "neighbours");
  for (const tensors::Tensor& weight : weights_) {
    constexpr std::size_t kSample = 4096;
    const std::size_t sample = std::min(kSample, weight.bytes.size());
    hash.add(weight.name);
    hash.add(std::string(type_name(weight.type)));
    hash.add(weight.shape.data(), weight.shape.size() * sizeof(weight.shape[0]));
    hash.add(weight.bytes.data(), sample);
    hash.add(weight.bytes.last(sample).data(), sample);
  }
  return hash.text();
}

void Checkpoint::apply_changes(const fs::path& path) {
  as_checkpoint([&] {
    const auto files = std::make_shared<Files>();
    files->before = owner_;
    const tensors::SafetensorsFile& file = files->add(path);
    const auto base = file.metadata().find(kBaseHash);
    if (base != file.metadata().end() && base->second != hash()) {
      fail<CheckpointError>(path.string(), "__metadata__",
                            "changes of the checkpoint " + in_quotes(base->second),
                            fmt::format("those of '{}', which is {}", hash(), where_));
    }
    if (file.tensors().empty())
      fail<CheckpointError>(path.string(), "", "no tensor", "changed weights");
    std::vector<tensors::Tensor> weights = weights_;
    std::set<std::size_t> seen;
    for (const tensors::Tensor& tensor : file.tensors()) {
      const std::size_t index = index_of(tensor.name, path.string());
      tensors::Tensor& weight = weights[index];
      const std::string place = "tensor " + in_quotes(tensor.name);
      if (!seen.insert(index).second) {
        fail<CheckpointError>(path.string(), place, "the same weight for the second time",
                              "each weight once");
      }
      if (tensor.shape != weight.shape) {
        fail<CheckpointError>(path.string(), place, "the shape " + shape_text(tensor.shape),
                              shape_text(weight.shape));
      }
      check_type(tensor, path.string());
      weight.type = tensor.type;
      weight.bytes = tensor.bytes;
    }
    weights_ = std::move(weights);
    owner_ = files;
    where_ += " with " + path.string();
  });
}

}  // namespace tandem::llama
