// SPDX-License-Identifier: MIT
// Words of commands that we suggest.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// A word as a shell reads it back: quoted where it has to be. Control characters and bytes that
/// are not UTF-8 become escapes in $'...' (bash, zsh, ksh, POSIX.1-2024), so that the command can
/// be shown on a terminal.
std::string shell_word(std::string_view text);

}  // namespace tandem
