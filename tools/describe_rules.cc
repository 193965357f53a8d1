// SPDX-License-Identifier: MIT
// Prints what the library knows of each optimizer, a line of JSON each: what scripts/generate reads.
#include <tandem/registry.h>

#include <cstdio>

int main() {
  for (const tandem::OptimizerInfo& info : tandem::optimizer_infos()) {
    std::puts(tandem::optimizer_json(info.name).c_str());
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
