// SPDX-License-Identifier: MIT
#include <tandem/version.h>

#include "kernels/kernels.h"

namespace tandem {

#define TANDEM_TEXT_OF(x) #x
#define TANDEM_TEXT(x) TANDEM_TEXT_OF(x)

const char* version() {
  return TANDEM_TEXT(TANDEM_VERSION_MAJOR) "." TANDEM_TEXT(TANDEM_VERSION_MINOR) "." TANDEM_TEXT(
      TANDEM_VERSION_PATCH);
}

const char* cpu_target() { return kernels::kernels<float>().target; }

}  // namespace tandem
