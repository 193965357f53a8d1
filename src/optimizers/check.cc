// SPDX-License-Identifier: MIT
#include "optimizers/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tandem {

void check_range(const std::string& rule, const std::string& option, double value, Range range) {
  const auto fail = [&](const std::string& expected) {
    return std::invalid_argument(
        fmt::format("{}: Invalid {}: {}, expected {}", rule, option, value, expected));
  };
  switch (range) {
    case Range::non_negative:
      if (!(std::isfinite(value) && value >= 0)) throw fail("a finite number >= 0");
      return;
    case Range::positive:
      if (!(std::isfinite(value) && value > 0)) throw fail("a finite number > 0");
      return;
    case Range::factor:
      if (!(value > 0 && value <= kMostGrowth)) {
        throw fail(fmt::format("a number > 0 and <= {}", kMostGrowth));
      }
      return;
    case Range::fraction:
      if (!(value >= 0 && value < 1)) throw fail("a number >= 0 and < 1");
      return;
  }
}

void check_rate(const std::string& rule, const std::string& option, const Schedule& rate) {
  // The shapes of schedules keep the sign of their rate at all times.
  const double first = rate.at(Clock{});
  if (!(std::isfinite(first) && first >= 0)) {
    throw std::invalid_argument(fmt::format("{}: Invalid {}: {}, expected a finite number >= 0",
                                            rule, option, rate.to_string()));
  }
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
