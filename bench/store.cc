// SPDX-License-Identifier: MIT
#include "bench/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/token.h"
#include "bench/folder.h"
#include "bench/measure.h"
#include "store/store.h"

namespace tandem::bench {
namespace {

using store::Store;

// What a unit costs in a large study against a small one.
constexpr double kMostGrowth = 1.5;
constexpr std::size_t kShared = 1000;  // at most, where numbers of workers are compared

/// A study of so many units, none of them done, while this lives.
class Planned {
 public:
  Planned(const std::string& location, std::size_t units)
      : store_(Store::open(location, Store::Mode::write)) {
    const store::Study study = store_.ensure_study({.name = "bench " + random_token(),
                                                    .text = "a benchmark of the store",
                                                    .fingerprint = "0",
                                                    .version = "0",
                                                    .target = "none",
                                                    .epochs = 1,
                                                    .seeds = {1}});
    id_ = study.id;
    const store::Task task = store_.ensure_task(
        {.study_id = id_, .key = "task", .data = "none", .model = "none", .data_hash = "0"});
    std::vector<store::Unit> list;
    for (std::size_t i = 0; i < units; ++i) {
      list.push_back({.task_id = task.id,
                      .key = fmt::format("unit {}", i),
                      .optimizer = "adam",
                      .members = "{}",
                      .place = static_cast<std::int64_t>(i)});
    }
    planning_ = seconds_of([&] { store_.add_units(id_, list); });
  }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;
  ~Planned() {
    try {
      store_.remove_study(id_, true);
    } catch (const store::StoreError&) {
      // It is a benchmark's, and the next one's has another name.
    }
  }
  std::int64_t id() const { return id_; }
  double planning() const { return planning_; }

 private:
  Store store_;
  std::int64_t id_ = 0;
  double planning_ = 0;
};

store::MemberRow member(std::size_t points) {
  store::MemberRow member{.optimizer = "adam", .method = "adam", .options = {{"lr", "0.1"}}};
  for (std::size_t i = 0; i < points; ++i) {
    member.points.push_back({.epoch = i, .step = 100 * i, .train_loss = 1.0 / (1.0 + i)});
  }
  return member;
}

/// As a study does it for each unit, but for the training.
void work_through(const std::string& location, std::int64_t study, std::size_t points) {
  Store store = Store::open(location, Store::Mode::write);
  const std::string owner = store::this_owner();
  const std::vector<store::MemberRow> rows = {member(points)};
  while (const auto lease = store.lease(study, owner, 600)) {
    store.finish(*lease, rows);
    store.progress(study);
  }
}

double seconds_of_workers(const std::string& location, std::int64_t study, std::size_t workers,
                          std::size_t points) {
  std::exception_ptr trouble;
  std::mutex lock;
  const double seconds = seconds_of([&] {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workers; ++i) {
      threads.emplace_back([&] {
        try {
          work_through(location, study, points);
        } catch (...) {
          const std::lock_guard guard(lock);
          trouble = std::current_exception();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  if (trouble) std::rethrow_exception(trouble);
  return seconds;
}

}  // namespace

void run_store_bench(const StoreOptions& options, const Report& report) {
  const Folder folder;
  const std::string location = options.location.empty() ? folder.file() : options.location;
  double first = 0;
  double first_planning = 0;
  for (const std::size_t units : options.units) {
    const Planned study(location, units);
    const double each = 1e3 / static_cast<double>(units);
    const double planning = study.planning() * each;
    const double work = seconds_of_workers(location, study.id(), 1, options.points) * each;
    if (first == 0) first = work;
    if (first_planning == 0) first_planning = planning;
    report.row({.part = "planning",
                .name = fmt::format("planning {} units", units),
                .unit = "ms/unit",
                .value = planning,
                .reference = first_planning,
                .against = fmt::format("{} units", options.units.front()),
                .ratio = planning / first_planning});
    report.row({.part = "units",
                .name = fmt::format("{} units, one worker", units),
                .unit = "ms/unit",
                .value = work,
                .reference = first,
                .against = fmt::format("{} units", options.units.front()),
                .ratio = work / first,
                .target = fmt::format("<= {}", kMostGrowth),
                .met = work / first <= kMostGrowth});
  }
  const std::size_t shared =
      std::min(kShared, *std::max_element(options.units.begin(), options.units.end()));
  double alone = 0;
  std::vector<std::size_t> workers = options.workers;
  if (!workers.empty()) workers.insert(workers.begin(), 1);
  for (const std::size_t number : workers) {
    const Planned study(location, shared);
    const double seconds = seconds_of_workers(location, study.id(), number, options.points);
    const double rate = static_cast<double>(shared) / seconds;
    if (alone == 0) alone = rate;
    report.row({.part = "workers",
                .name = fmt::format("{} units, {} worker{}", shared, number, number > 1 ? "s" : ""),
                .unit = "units/s",
                .value = rate,
                .reference = alone,
                .against = "one worker",
                .ratio = rate / alone});
  }
  report.note(
      "A unit is leased, finished with one member, and counted, as a study does it, without the "
      "training.");
}

}  // namespace tandem::bench
