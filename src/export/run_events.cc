// SPDX-License-Identifier: MIT
#include "export/run_events.h"

#include <algorithm>

namespace tandem::exporting {
namespace {

constexpr std::string_view kLeastLoss = "least/train_loss";
constexpr std::string_view kLeastGap = "least/gap";

}  // namespace

const std::vector<std::pair<std::string_view, std::string_view>>& metrics() {
  static const std::vector<std::pair<std::string_view, std::string_view>> kMetrics = {
      {kLeastLoss, "least training loss"}, {kLeastGap, "least gap"}};
  return kMetrics;
}

void write_point(Event& event, const train::Point& point, std::optional<double> optimum) {
  event.scalar("loss/train", point.train_loss);
  event.scalar("loss/validation", point.validation_loss);
  event.scalar("accuracy/validation", point.validation_accuracy);
  if (optimum) event.scalar("gap", point.train_loss - *optimum);
  event.scalar("estimator/residual", point.residual);
  event.scalar("estimator/delta", point.delta);
  event.scalar("estimator/variance_ratio", point.estimator_error / point.batch_error);
  event.scalar("distance", point.distance);
}

void write_end(Event& event, std::span<const train::Point> points, bool diverged,
               std::optional<double> optimum, double seconds) {
  write_session_end(event, diverged ? Status::failure : Status::success, seconds);
  if (diverged) return;
  std::optional<double> least;
  for (const train::Point& point : points) {
    if (point.epoch > 0) least = std::min(least.value_or(point.train_loss), point.train_loss);
  }
  if (!least) return;
  event.scalar(kLeastLoss, *least);
  if (optimum) event.scalar(kLeastGap, *least - *optimum);
}

}  // namespace tandem::exporting
