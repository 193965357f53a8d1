// SPDX-License-Identifier: MIT
// Which weights of a Llama are trained: shell patterns over their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llama/checkpoint.h"
#include "llama/config.h"

namespace tandem::llama {

/// Whether the whole name fits: * stands for any text, dots and nothing included, ? for one
/// character.
bool matches(std::string_view pattern, std::string_view name);

/// Our names of all weights that a pattern fits by our name or the file's, in the order of the
/// model, each once. Throws std::invalid_argument for a pattern that fits none, with names near it,
/// and where there is no pattern.
std::vector<std::string> choose_weights(const Checkpoint& checkpoint,
                                        const std::vector<std::string>& patterns);

/// What is trained where nobody says: attention of the last layer.
std::vector<std::string> default_patterns(const Config& config);

}  // namespace tandem::llama
