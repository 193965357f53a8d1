// SPDX-License-Identifier: MIT
// The version of the headers and of the library in use.
#pragma once

#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 1
#define TANDEM_VERSION_PATCH 0

#include <string>
#include <vector>

namespace tandem {

/// "0.1.0", of the library that is linked, not of the headers.
const char* version();
/// The instruction set that the kernels run on here, such as "AVX2". Results are the same to the
/// bit on one target.
const char* cpu_target();
/// All that the kernels are compiled for and this CPU runs, the best first, which is the one in use
/// unless another one is chosen.
std::vector<std::string> cpu_targets();
/// Kernels run on this one from now on, so that the bits are those of machines that have no better
/// one. To be called before anything else: what exists keeps the target that it was made with. Throws
/// std::invalid_argument for a name that is not known and for a target that this CPU does not run.
void set_cpu_target(const std::string& name);

}  // namespace tandem
