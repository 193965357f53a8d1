// SPDX-License-Identifier: MIT
#include "study/grid.h"

namespace tandem::study {

std::vector<train::Setting> expand(const std::string& method, const Grid& grid) {
  std::vector<train::Setting> settings{{method, {}}};
  for (const auto& [name, values] : grid) {
    if (values.empty()) continue;
    std::vector<train::Setting> longer;
    for (const train::Setting& setting : settings) {
      for (const std::string& value : values) {
        longer.push_back(setting);
        longer.back().options[name] = value;
      }
    }
    settings = std::move(longer);
  }
  return settings;
}

}  // namespace tandem::study
