// SPDX-License-Identifier: MIT
#include "llama/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "llama/index_json.h"
#include "llama/test_checkpoints.h"

namespace tandem::llama {
namespace {

namespace fs = std::filesystem;
using tensors::Tensor;
using tensors::Type;

bool same_weights(const Checkpoint& checkpoint, const std::vector<Tensor>& tensors) {
  if (checkpoint.weights().size() != tensors.size()) return false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!std::ranges::equal(checkpoint.weights()[i].bytes, tensors[i].bytes)) return false;
  }
  return true;
}

TEST_F(CheckpointTest, OpensAFolderAndASingleFile) {
  for (const Type type : {Type::f32, Type::f16, Type::bf16}) {
    const MadeTensors made = made_tensors(small_config(), type, 1);
    write_config(small_config(), type);
    write_weights(made.tensors);
    for (const fs::path& path : {folder_, folder_ / "model.safetensors", folder_ / "config.json"}) {
      const Checkpoint checkpoint = Checkpoint::open(path);
      EXPECT_TRUE(checkpoint.config().rope_halves);
      EXPECT_FALSE(checkpoint.is_llama2c());
      EXPECT_EQ(checkpoint.weights()[0].type, type);
      EXPECT_EQ(checkpoint.weights()[2].name, "layers.0.attention.wq");
      EXPECT_EQ(checkpoint.file_names()[2], "model.layers.0.self_attn.q_proj.weight");
      EXPECT_TRUE(same_weights(checkpoint, made.tensors));
    }
  }
}

TEST_F(CheckpointTest, IgnoresFrequenciesOfOlderFiles) {
  MadeTensors made = made_tensors(small_config(), Type::f16, 1);
  const std::vector<std::byte> frequency(4);
  std::vector<Tensor> all = made.tensors;
  all.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", Type::f32, {1}, frequency});
  write_config(small_config());
  write_weights(all);
  EXPECT_TRUE(same_weights(Checkpoint::open(folder_), made.tensors));
}

class Sharded : public CheckpointTest {
 protected:
  Sharded() : made_(made_tensors(small_config(), Type::bf16, 2)) {
    write_config(small_config());
    for (std::size_t i = 0; i < made_.tensors.size(); ++i) {
      const std::size_t file = i % 3;
      shards_[file].push_back(made_.tensors[i]);
      files_[made_.tensors[i].name] = name_of(file);
    }
    for (std::size_t file = 0; file < 3; ++file) write_weights(shards_[file], name_of(file));
    write_index();
  }

  static std::string name_of(std::size_t file) {
    return "model-" + std::to_string(file) + ".safetensors";
  }
  void write_index() const {
    write_file(folder_ / "model.safetensors.index.json", index_text(files_, 1));
  }
  void expect_bad(const std::vector<std::string>& parts) const {
    expect_refused([&] { Checkpoint::open(folder_); }, parts);
  }

  MadeTensors made_;
  std::array<std::vector<Tensor>, 3> shards_;
  std::map<std::string, std::string> files_;
};

TEST_F(Sharded, AreOneCheckpoint) {
  const Checkpoint checkpoint = Checkpoint::open(folder_);
  EXPECT_TRUE(same_weights(checkpoint, made_.tensors));
  const std::string hash = checkpoint.hash();
  EXPECT_EQ(hash.size(), 16U);
  write_weights(made_.tensors);
  EXPECT_EQ(Checkpoint::open(folder_).hash(), hash);  // a single file now
  write_weights(made_tensors(small_config(), Type::bf16, 3).tensors);
  EXPECT_NE(Checkpoint::open(folder_).hash(), hash);
}

TEST_F(Sharded, AreRefusedOutsideTheFolder) {
  for (const char* name : {"../x.safetensors", "/x.safetensors", "a/b.safetensors",
                           "..\\x.safetensors", "x.bin", ".safetensors", ""}) {
    files_["model.norm.weight"] = name;
    write_index();
    expect_bad({"index.json", "weight_map, tensor 'model.norm.weight'", "in the same folder"});
  }
}

TEST_F(Sharded, AreRefusedWhereTheIndexIsWrong) {
  files_["model.norm.weight"] = "none.safetensors";
  write_index();
  expect_bad({"none.safetensors", "a file that can be read"});
  files_.erase("model.norm.weight");
  write_index();
  expect_bad({"tensor 'model.norm.weight'", "does not place it here"});
  files_["model.norm.weight"] = name_of(0);  // it is in another
  files_["lm_head.weight"] = name_of(0);
  write_index();
  expect_bad({"model-", "index.json"});
  write_file(folder_ / "model.safetensors.index.json", "{\"weight_map\": 3}");
  expect_bad({"weight_map", "found 3"});
  write_file(folder_ / "model.safetensors.index.json", "{\"weight_map\": {}}");
  expect_bad({"weight_map", "no tensor"});
  write_file(folder_ / "model.safetensors.index.json", "{}");
  expect_bad({"weight_map", "no such key"});
  write_file(folder_ / "model.safetensors.index.json", "{\"weight_map\": {\"a\": 1}}");
  expect_bad({"tensor 'a'", "found 1"});
}

TEST_F(Sharded, AreRefusedWhereATensorIsPromisedInVain) {
  files_["model.layers.2.mlp.up_proj.weight"] = name_of(1);
  write_index();
  expect_bad({"model-1.safetensors", "no tensor 'model.layers.2.mlp.up_proj.weight'"});
}

TEST_F(CheckpointTest, NamesWhatIsMissingOrWrong) {
  const Config config = small_config();
  const MadeTensors made = made_tensors(config, Type::f32, 1);
  const auto expect_bad = [&](const std::vector<Tensor>& tensors,
                              const std::vector<std::string>& parts) {
    write_weights(tensors);
    expect_refused([&] { Checkpoint::open(folder_); }, parts);
  };
  expect_refused([&] { Checkpoint::open(folder_ / "none"); }, {"none", "no such file"});
  expect_refused([&] { Checkpoint::open(folder_); }, {"a folder without weights"});
  write_weights(made.tensors);
  expect_refused([&] { Checkpoint::open(folder_); }, {"config.json", "a file that can be read"});
  write_config(config);

  std::vector<Tensor> tensors = made.tensors;
  tensors[2].name = "model.layers.0.self_attn.qproj.weight";
  expect_bad(tensors, {"no tensor 'model.layers.0.self_attn.q_proj.weight'", "[8, 8]",
                       "'model.layers.0.self_attn.qproj.weight' is the nearest"});
  tensors = made.tensors;
  tensors[2].shape = {4, 16};
  expect_bad(tensors, {"q_proj.weight'", "[4, 16]", "[8, 8]"});
  tensors[2].shape = {64};
  expect_bad(tensors, {"q_proj.weight'", "[64]", "[8, 8]"});
  tensors = made.tensors;
  tensors[2].type = Type::i32;
  expect_bad(tensors, {"q_proj.weight'", "I32", "F32, F16 or BF16"});
  tensors = made.tensors;
  tensors.push_back({"model.layers.0.self_attn.q_proj.bias", Type::f32, {1}, made.memory[0]});
  tensors.back().bytes = tensors.back().bytes.first(4);
  expect_bad(tensors, {"q_proj.bias'", "no place for", "q_proj.weight' is the nearest"});

  write_weights(made.tensors);
  Config other = config;
  other.layers = 3;
  write_config(other);
  expect_refused([&] { Checkpoint::open(folder_); }, {"2 layers in 21 tensors", "3 layers"});
  other.layers = 8000;
  write_config(other);
  expect_refused([&] { Checkpoint::open(folder_); }, {"2 layers in 21 tensors", "8000 layers"});
  other.layers = 1;
  write_config(other);
  expect_refused([&] { Checkpoint::open(folder_); }, {"model.layers.1.", "no place for"});
  other = config;
  other.tied = true;
  write_config(other);
  expect_refused([&] { Checkpoint::open(folder_); }, {"lm_head.weight", "no place for"});
  write_config(config);
  EXPECT_TRUE(same_weights(Checkpoint::open(folder_), made.tensors));

  // Damage below is told as an error of the checkpoint.
  fs::resize_file(folder_ / "model.safetensors", fs::file_size(folder_ / "model.safetensors") - 1);
  expect_refused([&] { Checkpoint::open(folder_); }, {"model.safetensors", "expected"});
}

TEST_F(CheckpointTest, KeepsItsMemoryWhenMoved) {
  const Config config = small_config();
  write_file(folder_ / "a.bin", llama2c_file(config));
  std::shared_ptr<const void> owner;
  std::vector<Tensor> weights;
  {
    const Checkpoint checkpoint = Checkpoint::open(folder_ / "a.bin");
    owner = checkpoint.owner();
    weights = checkpoint.weights();
  }
  float value = 0;
  std::memcpy(&value, weights[0].bytes.data(), sizeof value);
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace tandem::llama
