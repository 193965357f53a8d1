// SPDX-License-Identifier: MIT
#include "plugin/blas_core.h"

#include <tandem/version.h>

#include <cstdlib>
#include <string_view>

namespace tandem::plugin {

void choose_blas_core() {
  const std::string_view target = cpu_target();
  const bool avx512 = target.starts_with("AVX3");
  if (avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  if (target == "AVX2") setenv("OPENBLAS_CORETYPE", "Haswell", 0);
}

}  // namespace tandem::plugin
