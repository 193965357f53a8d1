// SPDX-License-Identifier: MIT
// Checks of option values, worded as torch words them: "Invalid lr: -1, expected a finite number >=
// 0".
#pragma once

#include <tandem/schedule.h>

#include <cstddef>
#include <span>
#include <string>

namespace tandem {

/// What a rate may be multiplied by per step or per epoch. A range test grows; what grows faster than
/// this is at infinity within a few hundred of them, whatever it starts from.
inline constexpr double kMostGrowth = 10;

enum class Range {
  non_negative,  // finite, >= 0
  positive,      // finite, > 0
  factor,        // > 0, and of a rate that grows at most kMostGrowth
  fraction       // in [0, 1)
};

bool is_in(double value, Range range);
/// Finite and not negative.
bool is_rate(const Schedule& rate);

/// All throw std::invalid_argument that names the rule and the option.
void check_range(const std::string& rule, const std::string& option, double value, Range range);
void check_rate(const std::string& rule, const std::string& option, const Schedule& rate);
/// Starting values: none, or as many as expected, all finite.
void check_values(const std::string& rule, const std::string& option,
                  std::span<const double> values, std::size_t expected);

}  // namespace tandem
