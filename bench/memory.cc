// SPDX-License-Identifier: MIT
#include "bench/memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace tandem::bench {

double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    double kib = 0;
    if (words >> key >> kib && key == "VmHWM:") return kib * 1024;
  }
  return 0;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace tandem::bench
