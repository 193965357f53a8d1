// SPDX-License-Identifier: MIT
// What the values of options may be. CLI11 alone takes "010" for 8, "-1" for 2^64 - 1 and a number
// that is too large for the largest one. A header beside CLI11's.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>

namespace tandem::cli {

/// Of whole numbers where no smaller limit makes sense: epochs, steps, samples.
constexpr std::uint64_t kMostCount = 1'000'000'000;
/// Of --memory, in MiB.
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 40U;
constexpr double kMostNumber = std::numeric_limits<double>::max();

/// Checks that a value is a whole number in plain decimal digits, within these bounds.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);
/// Checks that a value is a finite number in decimal notation, within these bounds.
CLI::Validator number(double least, double most);

/// For every option of the program: numbers that have neither of these checks get one with the
/// bounds of their type, and values are not empty, but for prompts.
void check_values(CLI::App& app);

}  // namespace tandem::cli
