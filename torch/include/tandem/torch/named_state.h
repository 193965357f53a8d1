// SPDX-License-Identifier: MIT
// A state as named tensors and texts: what safetensors files and Python's state_dict hold.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace tandem::optim {

/// What a part of a state is called by.
enum class Owners {
  names,  ///< of parameters, as name_parameters() gave them
  places  ///< of parameters in the optimizer: "0", "1", ..., one group after another
};

struct NamedState {
  /// An array of a parameter, in its shape, or of a unit ("unit 0"), flat.
  struct Part {
    std::string owner;
    std::string array;
    at::Tensor tensor;
  };
  std::map<std::string, std::string> facts;  // "format", "rule", "parameters", "units", "skipped"
  std::vector<Part> parts;
};

}  // namespace tandem::optim
