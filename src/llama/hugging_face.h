// SPDX-License-Identifier: MIT
// The weights of a Llama among the tensors of Hugging Face's files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "llama/config.h"
#include "tensors/safetensors.h"

namespace tandem::llama {

/// A tensor, and the file that has it.
struct Stored {
  tensors::Tensor tensor;
  std::string file;
};
using StoredByName = std::map<std::string, Stored>;

/// In the order of layout(), under our names. Throws CheckpointError for a weight that is missing,
/// or of a wrong shape or type, and for tensors that no Llama has; `where` is what was opened.
std::vector<tensors::Tensor> select_weights(const Config& config, const StoredByName& stored,
                                            const std::string& where);

/// Throws CheckpointError unless it is F32, F16 or BF16.
void check_type(const tensors::Tensor& tensor, const std::string& file);

}  // namespace tandem::llama
