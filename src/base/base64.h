// SPDX-License-Identifier: MIT
// Bytes as text that every database and protocol takes (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem {

std::string base64(std::string_view bytes);
/// None for what base64() does not give.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tandem
