// SPDX-License-Identifier: MIT
// What a comparison says of a run is the same of its outline.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "study/comparison.h"
#include "study/results.h"
#include "train/outline.h"

namespace tandem::study {
namespace {

/// Mostly small whole numbers, so that several are the least; NaN and infinities among them.
double any_loss(int strange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const int draw = *rc::gen::inRange(0, 100);
  if (draw >= strange) return *rc::gen::inRange(-3, 4);
  return std::vector<double>{std::numeric_limits<double>::quiet_NaN(), kInfinity,
                             -kInfinity}[static_cast<std::size_t>(draw) % 3];
}

Run any_run() {
  Run run{.diverged = *rc::gen::inRange(0, 8) == 0, .pruned = *rc::gen::inRange(0, 8) == 0};
  const auto length = *rc::gen::inRange<std::size_t>(0, 12);
  const std::size_t first = *rc::gen::inRange<std::size_t>(0, 2);  // a start, mostly
  const int strange = *rc::gen::element(0, 5, 100);
  const bool has_data_loss = *rc::gen::inRange(0, 4) > 0;
  for (std::size_t i = 0; i < length; ++i) {
    run.points.push_back({.epoch = first + i, .train_loss = any_loss(strange)});
    if (has_data_loss) run.points.back().data_loss = any_loss(strange);
  }
  return run;
}

Run outlined(Run run) {
  const std::vector<bool> marks = train::outline(run.points);
  std::vector<train::Point> kept;
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    if (marks[i]) kept.push_back(run.points[i]);
  }
  run.points = std::move(kept);
  return run;
}

void expect_same_end(const Run& whole, const Run& outline) {
  RC_ASSERT(failed(whole) == failed(outline));
  RC_ASSERT(min_loss(whole) == min_loss(outline));
  RC_ASSERT(whole.points.empty() == outline.points.empty());
  if (whole.points.empty()) return;
  RC_ASSERT(whole.points.front().epoch == outline.points.front().epoch);
  RC_ASSERT(whole.points.back().epoch == outline.points.back().epoch);
}

RC_GTEST_PROP(Outline, SaysOfARunWhatTheWholeSays, ()) {
  const Run whole = any_run();
  const Run outline = outlined(whole);
  RC_ASSERT(outline.points.size() <= 6U);
  expect_same_end(whole, outline);
  std::vector<Run> wholes{whole};
  std::vector<Run> outlines{outline};
  const bool known = report_data_loss(wholes);
  if (!known) return;  // an outline may not have the point that lacks it
  RC_ASSERT(report_data_loss(outlines));
  expect_same_end(wholes[0], outlines[0]);
}

}  // namespace
}  // namespace tandem::study
