// SPDX-License-Identifier: MIT
// Checks of option values, worded as torch words them: "Invalid lr: -1, expected a finite number >=
// 0".
#pragma once

#include <tandem/schedule.h>

#include <cstddef>
#include <span>
#include <string>

namespace tandem {

enum class Range {
  non_negative,  // finite, >= 0
  positive,      // finite, > 0
  fraction       // in [0, 1)
};

/// All throw std::invalid_argument that names the rule and the option.
void check_range(const std::string& rule, const std::string& option, double value, Range range);
void check_rate(const std::string& rule, const std::string& option, const Schedule& rate);
/// Starting values: none, or as many as expected, all finite.
void check_values(const std::string& rule, const std::string& option,
                  std::span<const double> values, std::size_t expected);

}  // namespace tandem
