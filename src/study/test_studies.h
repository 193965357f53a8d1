// SPDX-License-Identifier: MIT
// For tests: the fixture that tests/reference/statistics_reference.py wrote, and its study.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "study/results.h"

namespace tandem::study {

using Json = nlohmann::ordered_json;

inline const Json& fixture() {
  static const Json json = [] {
    std::ifstream file(TANDEM_SOURCE_DIR "/tests/reference/statistics_fixture.json");
    return Json::parse(file);
  }();
  return json;
}

inline std::optional<double> maybe(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

/// Equal to a relative tolerance, or both none. What underflows there may here.
inline void expect_near(std::optional<double> actual, const Json& expected, double tolerance) {
  ASSERT_EQ(actual.has_value(), !expected.is_null()) << expected;
  if (!actual) return;
  const auto value = expected.get<double>();
  EXPECT_NEAR(*actual, value, tolerance * std::abs(value) + 1e-300);
}

/// Points of the fixture are [epoch, gradient evaluations, seconds, loss].
inline Run run_of(const Json& json) {
  Run run;
  run.options = json.at("options").get<OptionMap>();
  run.seed = json.at("seed");
  run.diverged = json.at("diverged");
  run.pruned = json.at("pruned");
  run.state_bytes = json.at("state_bytes");
  for (const Json& values : json.at("points")) {
    train::Point point;
    point.epoch = values.at(0);
    point.gradient_evaluations = values.at(1);
    point.seconds = values.at(2);
    point.train_loss = values.at(3);
    run.points.push_back(point);
  }
  return run;
}

inline StudyRuns fixture_study() {
  const Json& json = fixture().at("study");
  StudyRuns study;
  study.name = "made up";
  study.complete = true;
  study.epochs = json.at("epochs");
  study.seeds = json.at("seeds").get<std::vector<std::uint64_t>>();
  for (const Json& entry : json.at("tasks")) {
    TaskRuns& task = study.tasks.emplace_back();
    task.data = entry.at("data");
    task.model = entry.at("model");
    task.lambda = entry.at("lam");
    task.optimum = maybe(entry.at("optimum"));
    for (const Json& runs : entry.at("optimizers")) {
      OptimizerRuns& optimizer = task.optimizers.emplace_back();
      optimizer.label = runs.at("label");
      optimizer.method = runs.at("method");
      optimizer.baseline = runs.at("baseline");
      optimizer.grid = runs.at("grid").get<std::map<std::string, std::vector<std::string>>>();
      for (const Json& run : runs.at("tuned")) optimizer.tuned.push_back(run_of(run));
      for (const Json& run : runs.at("measured")) optimizer.measured.push_back(run_of(run));
    }
  }
  return study;
}

}  // namespace tandem::study
