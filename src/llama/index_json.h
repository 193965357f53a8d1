// SPDX-License-Identifier: MIT
// model.safetensors.index.json of Hugging Face: which of several files has which tensor.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tandem::llama {

/// The file of each tensor: plain names, so that all are in the folder of the index. Throws
/// CheckpointError.
std::map<std::string, std::string> parse_index(std::string_view text, const std::string& where);

/// The inverse; `bytes` is the size of all tensors.
std::string index_text(const std::map<std::string, std::string>& files, unsigned long long bytes);

}  // namespace tandem::llama
