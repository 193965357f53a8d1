// SPDX-License-Identifier: MIT
// What records of rules share that do not train themselves: rates as text and as numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/records.h"

namespace tandem::testing {

using reference::Rates;
using reference::Update;

/// The rates of three sets and their text; `size` is what the rule's steps want.
struct Lrs {
  double size;

  std::string text(const std::string& rest) const { return std::to_string(size) + rest; }
  OptionMap epochs() const { return {{"lr", text("*0.97^epoch")}}; }
  RatesAt epochs_at() const {
    return [*this](double, double e) { return Rates{.lr = size * std::pow(0.97, e)}; };
  }
  OptionMap inverse() const {
    return {
        {"lr", std::string("warmup(10)*").append(std::to_string(100 * size)).append("/(t+100)")},
        {"projection", "box(-0.5, 0.75)"}};
  }
  RatesAt inverse_at() const {
    return [*this](double t, double) {
      return Rates{.lr = std::min(1.0, t / 10) * 100 * size / (t + 100)};
    };
  }
  OptionMap all() const {
    return {{"lr", text("")},
            {"decay", "0.98"},
            {"l2", "0.01"},
            {"weight_decay", "0.02"},
            {"projection", "ball(0.9)"}};
  }
  RatesAt all_at() const {
    return [*this](double, double e) { return Rates{.lr = size * std::pow(0.98, e)}; };
  }
};

inline const Update all_update = {.l2 = 0.01, .weight_decay = 0.02, .radius = 0.9};
inline const Update box_update = {.low = -0.5, .high = 0.75};

inline OptionMap with(OptionMap options, const OptionMap& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

}  // namespace tandem::testing
