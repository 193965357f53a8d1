// SPDX-License-Identifier: MIT
// The kernels of an OpenBLAS that is loaded at run time.
#pragma once

namespace tandem::plugin {

/// Tells an OpenBLAS that is loaded after this which kernels this CPU runs, unless the user did:
/// it takes a CPU newer than itself for a very old one, and reads the variable when it is loaded.
void choose_blas_core();

}  // namespace tandem::plugin
