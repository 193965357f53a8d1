// SPDX-License-Identifier: MIT
#include "llama/error.h"

#include "tensors/fail.h"

namespace tandem::llama {

std::string in_quotes(std::string_view text) { return tensors::shown(text); }

std::string shape_text(std::span<const std::uint64_t> shape) { return tensors::shown(shape); }

}  // namespace tandem::llama
