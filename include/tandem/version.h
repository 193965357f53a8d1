// SPDX-License-Identifier: MIT
// The version of the headers and of the library in use.
#pragma once

#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 1
#define TANDEM_VERSION_PATCH 0

namespace tandem {

/// "0.1.0", of the library that is linked, not of the headers.
const char* version();
/// The instruction set that the kernels run on here, such as "AVX2". Results are the same to the
/// bit on one target.
const char* cpu_target();

}  // namespace tandem
