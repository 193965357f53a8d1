// SPDX-License-Identifier: MIT
#include "optimizers/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tandem {

namespace {

std::string expected(Range range) {
  switch (range) {
    case Range::non_negative:
      return "a finite number >= 0";
    case Range::positive:
      return "a finite number > 0";
    case Range::factor:
      return fmt::format("a number > 0 and <= {}", kMostGrowth);
    case Range::fraction:
      return "a number >= 0 and < 1";
  }
  return "";
}

}  // namespace

bool is_in(double value, Range range) {
  switch (range) {
    case Range::non_negative:
      return std::isfinite(value) && value >= 0;
    case Range::positive:
      return std::isfinite(value) && value > 0;
    case Range::factor:
      return value > 0 && value <= kMostGrowth;
    case Range::fraction:
      return value >= 0 && value < 1;
  }
  return false;
}

bool is_rate(const Schedule& rate) {
  // The shapes of schedules keep the sign of their rate at all times.
  return is_in(rate.at(Clock{}), Range::non_negative);
}

void check_range(const std::string& rule, const std::string& option, double value, Range range) {
  if (is_in(value, range)) return;
  throw std::invalid_argument(
      fmt::format("{}: Invalid {}: {}, expected {}", rule, option, value, expected(range)));
}

void check_rate(const std::string& rule, const std::string& option, const Schedule& rate) {
  if (is_rate(rate)) return;
  throw std::invalid_argument(fmt::format("{}: Invalid {}: {}, expected {}", rule, option,
                                          rate.to_string(), expected(Range::non_negative)));
}

void check_values(const std::string& rule, const std::string& option,
                  std::span<const double> values, std::size_t expected) {
  if (values.empty()) return;
  if (values.size() != expected) {
    throw std::invalid_argument(fmt::format("{}: Invalid size of {}: {}, expected {}", rule, option,
                                            values.size(), expected));
  }
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](double value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    throw std::invalid_argument(
        fmt::format("{}: Invalid {}: {} at index {}, expected finite numbers", rule, option, *bad,
                    bad - values.begin()));
  }
}

}  // namespace tandem
