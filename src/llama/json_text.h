// SPDX-License-Identifier: MIT
// JSON out of files of strangers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tandem::llama {

/// The object that is the whole text. Throws CheckpointError with the byte where it ends to be one.
nlohmann::json parse_object(std::string_view text, const std::string& where);

/// As messages show a value: "12", "'text'", "true", "null", "an array".
std::string shown(const nlohmann::json& value);

}  // namespace tandem::llama
