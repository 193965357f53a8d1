// SPDX-License-Identifier: MIT
#include "study/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/suggest.h"

namespace tandem::study {

const std::vector<std::string>& report_loss_names() {
  static const std::vector<std::string> kNames{"total", "data"};
  return kNames;
}

ReportLoss parse_report_loss(const std::string& name) {
  if (name == report_loss_names()[0]) return ReportLoss::total;
  if (name == report_loss_names()[1]) return ReportLoss::data;
  throw std::invalid_argument(
      fmt::format("Unknown loss to report '{}'{}", name, suggestion(name, report_loss_names())));
}

bool report_data_loss(std::vector<Run>& runs) {
  const bool known = std::all_of(runs.begin(), runs.end(), [](const Run& run) {
    return std::all_of(run.points.begin(), run.points.end(), [](const train::Point& point) {
      return std::isfinite(point.data_loss) || !std::isfinite(point.train_loss);
    });
  });
  if (!known) return false;
  for (Run& run : runs) {
    for (train::Point& point : run.points) point.train_loss = point.data_loss;
  }
  return true;
}

}  // namespace tandem::study
