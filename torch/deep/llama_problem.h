// SPDX-License-Identifier: MIT
// A Llama that is tuned on the responses of samples, as a problem of the laboratory.
#pragma once

#include <memory>

#include "plugin/plugin.h"

namespace tandem::deep {

/// plugin::DeepModels::llama. Throws std::invalid_argument for a request that does not hold
/// together.
std::unique_ptr<plugin::LanguageModel> make_llama(plugin::LlamaRequest request);

}  // namespace tandem::deep
