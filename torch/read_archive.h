// SPDX-License-Identifier: MIT
// Values of an archive that may hold anything. All throw StateError that names the key.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::optim::detail {

c10::IValue read_value(torch::serialize::InputArchive& archive, const std::string& key);
std::int64_t read_count(torch::serialize::InputArchive& archive, const std::string& key);
std::vector<std::int64_t> read_list(torch::serialize::InputArchive& archive,
                                    const std::string& key);
std::vector<std::string> read_names(torch::serialize::InputArchive& archive,
                                    const std::string& key);
at::Tensor read_tensor(torch::serialize::InputArchive& archive, const std::string& key);

}  // namespace tandem::optim::detail
