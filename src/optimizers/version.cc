// SPDX-License-Identifier: MIT
#include <tandem/version.h>

namespace tandem {

#define TANDEM_TEXT_OF(x) #x
#define TANDEM_TEXT(x) TANDEM_TEXT_OF(x)

const char* version() {
  return TANDEM_TEXT(TANDEM_VERSION_MAJOR) "." TANDEM_TEXT(TANDEM_VERSION_MINOR) "." TANDEM_TEXT(
      TANDEM_VERSION_PATCH);
}

}  // namespace tandem
