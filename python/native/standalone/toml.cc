// SPDX-License-Identifier: MIT
// libtomlplusplus, of which Debian has no static version.
#define TOML_HEADER_ONLY 0
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
