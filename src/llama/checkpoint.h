// SPDX-License-Identifier: MIT
// A Llama on disk, mapped and checked: whatever file it comes from, its weights have our names (see
// config.h), their stored type, and stand in the order of the model. Nothing is copied.
//
// Whoever shortens a file in place while it is open kills the process, as with all mapped files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "llama/config.h"
#include "llama/error.h"
#include "tensors/safetensors.h"

namespace tandem::llama {

class Checkpoint {
 public:
  /// `path` is a .bin file of llama2.c, a folder of Hugging Face (config.json with
  /// model.safetensors, or with model.safetensors.index.json and its files), or a .safetensors file
  /// with config.json beside it. Throws CheckpointError.
  static Checkpoint open(const std::filesystem::path& path);

  const Config& config() const { return config_; }
  /// Names and order as layout() has them; F32, F16 or BF16.
  const std::vector<tensors::Tensor>& weights() const { return weights_; }
  /// What the file calls them, in the same order; the same names for llama2.c.
  const std::vector<std::string>& file_names() const { return file_names_; }
  /// Of the memory that the weights look at.
  std::shared_ptr<const void> owner() const { return owner_; }
  /// What was opened, for messages.
  const std::string& where() const { return where_; }
  /// Whether it is one of llama2.c: without names in the file.
  bool is_llama2c() const { return llama2c_; }

  /// Where a weight stands, by our name or by the file's. Throws CheckpointError with near names;
  /// `place` says who asks.
  std::size_t index_of(const std::string& name, const std::string& place) const;

  /// 16 hexadecimal digits: XXH3 of the configuration, and of name, type, shape and the first and
  /// last 4 KiB of each weight, so that the largest files take no time. The same for the same model
  /// in one file or in many.
  std::string hash() const;

  /// Takes the weights of a file that save_changed() wrote in the place of its own. Throws
  /// CheckpointError, and stays as it was, where the file is of another checkpoint, or has a weight
  /// that this one has not.
  void apply_changes(const std::filesystem::path& path);

 private:
  static Checkpoint open_llama2c(const std::filesystem::path& path);
  static Checkpoint open_hugging_face(const std::filesystem::path& config,
                                      const std::filesystem::path& weights);

  Config config_;
  std::vector<tensors::Tensor> weights_;
  std::vector<std::string> file_names_;
  std::shared_ptr<const void> owner_;
  std::string where_;
  bool llama2c_ = false;
};

/// The metadata of save_changed() that names the checkpoint which the changes are of.
inline constexpr const char* kBaseHash = "tandem_base";

}  // namespace tandem::llama
