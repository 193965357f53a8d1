// SPDX-License-Identifier: MIT
// What Highway's headers expect of its library, of which Debian has no static version: two functions.
#include "highway_targets.h"

namespace hwy {

int64_t SupportedTargets() {
  static const int64_t kTargets = tandem::standalone::detected_targets();
  return kTargets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
