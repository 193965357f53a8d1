// SPDX-License-Identifier: MIT
// The study files of the folder studies/, which the program carries with it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::study {

/// Path below studies/ ("demo.toml"), and the text.
const std::vector<std::pair<std::string, std::string_view>>& builtin_studies();
/// Throws std::out_of_range for one that is not there.
std::string_view builtin_study(const std::string& path);

}  // namespace tandem::study
