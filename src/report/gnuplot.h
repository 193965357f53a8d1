// SPDX-License-Identifier: MIT
// Runs gnuplot on a script, in a folder of its own, without a shell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tandem::report {

/// The program, found in PATH; empty where there is none.
std::filesystem::path find_gnuplot();

/// Runs the script and gives the contents of these files, which it writes in its working folder.
/// Throws NoGnuplot or FigureError.
std::vector<std::string> run_gnuplot(const std::string& script,
                                     const std::vector<std::string>& files);

}  // namespace tandem::report
