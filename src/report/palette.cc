// SPDX-License-Identifier: MIT
#include "report/palette.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tandem::report {
namespace {

// Okabe and Ito, without their yellow, which a white page swallows; grey is their addition.
constexpr unsigned kBlack = 0x000000;
constexpr unsigned kOrange = 0xE69F00;
constexpr unsigned kSky = 0x56B4E9;
constexpr unsigned kGreen = 0x009E73;
constexpr unsigned kBlue = 0x0072B2;
constexpr unsigned kVermillion = 0xD55E00;
constexpr unsigned kPurple = 0xCC79A7;
constexpr unsigned kGrey = 0x808080;
constexpr std::array kColours = {kBlue, kVermillion, kGreen, kPurple, kOrange, kSky, kBlack, kGrey};

enum Dash { solid, dashed, dotted, dash_dot, long_dash, dash_dot_dot };
constexpr std::array<std::string_view, kDashes> kPatterns = {
    "solid", "(8,4)", "(2,3)", "(9,3,2,3)", "(16,5)", "(9,3,2,3,2,3)"};

struct Known {
  std::string_view name;
  Style style;
};

// A family shares a colour; the seven of the demo have seven.
constexpr std::array<Known, 17> kKnown = {{
    {"adam", {kBlack, solid}},
    {"adamw", {kBlack, dashed}},
    {"vradam", {kBlack, dash_dot}},
    {"momentum", {kOrange, dashed}},
    {"nesterov", {kOrange, long_dash}},
    {"sgd", {kOrange, dotted}},
    {"saga", {kGreen, dash_dot}},
    {"svrg", {kGreen, dotted}},
    {"storm", {kGreen, long_dash}},
    {"diag-to", {kBlue, solid}},
    {"block-to", {kBlue, long_dash}},
    {"ro-to", {kVermillion, long_dash}},
    {"full-to", {kPurple, solid}},
    {"adam-to", {kSky, dash_dot_dot}},
    {"adagrad", {kGrey, solid}},
    {"rmsprop", {kGrey, dashed}},
    {"lion", {kGrey, dotted}},
}};

/// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash_of(std::string_view label) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char byte : label) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  }
  return hash ^ (hash >> 32U);
}

}  // namespace

std::string_view dash_pattern(int dash) {
  return kPatterns[static_cast<std::size_t>(dash) % kPatterns.size()];
}

bool is_known(std::string_view label) {
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [&](const Known& known) { return known.name == label; });
}

Style style_of(std::string_view label) {
  for (const Known& known : kKnown) {
    if (known.name == label) return known.style;
  }
  const std::uint64_t hash = hash_of(label);
  return {kColours[hash % kColours.size()], static_cast<int>(hash / kColours.size() % kDashes)};
}

}  // namespace tandem::report
