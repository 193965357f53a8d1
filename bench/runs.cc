// SPDX-License-Identifier: MIT
#include "bench/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/token.h"
#include "bench/folder.h"
#include "bench/measure.h"
#include "bench/memory.h"
#include "store/store.h"
#include "study/comparison.h"
#include "study/load.h"

namespace tandem::bench {
namespace {

using store::Phase;
using store::Store;

constexpr double kMostGrowth = 1.5;        // of a run's cost, in a large study against a small one
constexpr std::size_t kRunsOfAUnit = 500;  // as units of about a minute have
constexpr std::uint64_t kSeeds = 5;

/// A curve that falls to a floor of its own, with a wave in it, so that the least loss is anywhere.
/// The floors of the first two, which are measured too, are the lowest.
store::MemberRow member(std::size_t number, std::size_t points) {
  const auto value = static_cast<double>(number);
  const double floor = number < 2 ? 0.1 : 0.3 + 0.1 * std::sin(value);
  store::MemberRow row{.optimizer = number % 2 == 0 ? "adam" : "diag-to",
                       .method = number % 2 == 0 ? "adam" : "diag-to",
                       .baseline = number % 2 == 0,
                       .options = {{"lr", fmt::format("{:.6g}", 1e-4 * (1 + number % 97))},
                                   {"decay", fmt::format("{:.6g}", 1 - 0.001 * (number % 53))},
                                   {"number", std::to_string(number)}}};
  for (std::size_t i = 0; i < points; ++i) {
    const auto epoch = static_cast<double>(i);
    const double loss = floor + 2 / (1 + epoch) + 0.05 * std::cos(epoch + value);
    row.points.push_back({.epoch = i,
                          .step = 100 * i,
                          .gradient_evaluations = 6400 * i,
                          .seconds = 0.01 * epoch,
                          .train_loss = loss,
                          .validation_loss = 1.1 * loss,
                          .validation_accuracy = 0.9,
                          .data_loss = loss - 0.01,
                          .squared_norm = 1});
  }
  return row;
}

/// A finished study of one task and two optimizers: so many runs on the tuning seed, five of each
/// optimizer on the others. Its id.
std::int64_t fill(const std::string& location, const std::string& name, std::size_t runs,
                  std::size_t points) {
  Store store = Store::open(location, Store::Mode::write);
  std::vector<std::uint64_t> seeds(kSeeds);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i + 1;
  const store::Study study = store.ensure_study({.name = name,
                                                 .text = "{}",
                                                 .fingerprint = "0",
                                                 .version = "0",
                                                 .target = "none",
                                                 .command = "tandem bench runs",
                                                 .epochs = points,
                                                 .seeds = seeds});
  const store::Task task = store.ensure_task({.study_id = study.id,
                                              .key = "task",
                                              .data = "none",
                                              .model = "none",
                                              .lambda = 0.01,
                                              .data_hash = "0"});
  std::vector<store::Unit> units;
  for (std::size_t first = 0; first < runs; first += kRunsOfAUnit) {
    units.push_back({.task_id = task.id,
                     .key = fmt::format("unit {}", first),
                     .place = static_cast<std::int64_t>(units.size())});
  }
  units.push_back({.task_id = task.id,
                   .key = "measure",
                   .phase = Phase::measure,
                   .place = static_cast<std::int64_t>(units.size())});
  store.add_units(study.id, units);
  const std::string owner = store::this_owner();
  std::size_t next = 0;
  while (const auto lease = store.lease(study.id, owner, 600)) {
    std::vector<store::MemberRow> rows;
    if (lease->unit.phase == Phase::tune) {
      const std::size_t last = std::min(next + kRunsOfAUnit, runs);
      for (; next < last; ++next) rows.push_back(member(next, points));
    } else {
      for (const std::uint64_t seed : seeds) {
        for (const std::size_t number : {0, 1}) {
          rows.push_back(member(number, points));
          rows.back().seed = seed;
          rows.back().phase = Phase::measure;
        }
      }
    }
    store.finish(*lease, rows);
  }
  return study.id;
}

}  // namespace

void run_runs_bench(const RunsOptions& options, const Report& report) {
  const Folder folder;
  const std::string location = options.location.empty() ? folder.file() : options.location;
  double first_filling = 0;
  double first_reading = 0;
  for (const std::size_t runs : options.runs) {
    const std::string name = "bench " + random_token();
    const double each = 1e6 / static_cast<double>(runs);
    std::int64_t id = 0;
    const double filling =
        seconds_of([&] { id = fill(location, name, runs, options.points); }) * each;
    if (first_filling == 0) first_filling = filling;
    const std::string what = fmt::format("{} runs of {} points", runs, options.points);
    const std::string against = fmt::format("{} runs", options.runs.front());
    report.row({.part = "writing",
                .name = "writing " + what,
                .unit = "us/run",
                .value = filling,
                .reference = first_filling,
                .against = against,
                .ratio = filling / first_filling});

    Store store = Store::open(location, Store::Mode::write);
    reset_peak();
    const double before = peak_bytes();
    std::size_t rows = 0;
    const double reading =
        seconds_of([&] { rows = study::compare(study::load_study(store, name)).size(); });
    const double bytes = peak_bytes() - before;
    if (rows != 2) report.note("the study was not read");
    if (first_reading == 0) first_reading = reading * each;
    report.row({.part = "reading",
                .name = fmt::format("{}: read and compared, {:.2f} s", what, reading),
                .unit = "us/run",
                .value = reading * each,
                .reference = first_reading,
                .against = against,
                .ratio = reading * each / first_reading,
                .target = fmt::format("<= {}", kMostGrowth),
                .met = reading * each / first_reading <= kMostGrowth});
    const double whole = static_cast<double>(runs * options.points * sizeof(train::Point)) / 1e6;
    report.row({.part = "memory",
                .name = what + ": memory of that",
                .unit = "MB",
                .value = bytes / 1e6,
                .reference = whole,
                .against = "all points",
                .ratio = bytes / 1e6 / whole});
    if (options.keep) {
      report.note(fmt::format("kept: study '{}' in {}", name, location));
    } else {
      store.remove_study(id, true);
    }
  }
}

}  // namespace tandem::bench
