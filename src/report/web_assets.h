// SPDX-License-Identifier: MIT
// The front end that web/ is built into, carried in the program; empty in a build without it.
#pragma once

#include <string>
#include <string_view>

namespace tandem::report {

std::string_view web_script();
std::string_view web_style();

/// Whether the program has it.
inline bool web_available() { return !web_script().empty(); }

/// The script's digest as a content security policy names it: "sha256-...".
const std::string& web_script_digest();

}  // namespace tandem::report
