// SPDX-License-Identifier: MIT
#include "export/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "export/event.h"
#include "export/event_file.h"
#include "export/run_events.h"
#include "study/train_options.h"

namespace tandem::exporting {
namespace {

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace

LiveRuns::LiveRuns(std::filesystem::path folder, Facts facts,
                   const std::vector<train::Setting>& settings, bool resumed)
    : folder_(std::move(folder)), facts_(std::move(facts)), many_(settings.size() > 1) {
  if (std::filesystem::exists(folder_) && !std::filesystem::is_directory(folder_)) {
    throw std::invalid_argument(
        fmt::format("{} is a file, expected a folder for event files", folder_.string()));
  }
  for (std::size_t id = 0; id < settings.size(); ++id) {
    experiment_.add(hparams_of(settings[id]));
    if (!resumed && has_event_files(folder_of(id))) {
      throw std::invalid_argument(fmt::format(
          "{} has event files of another run, which TensorBoard would mix with this one; expected "
          "an empty folder, or the --checkpoint of that run",
          folder_of(id).string()));
    }
  }
}

std::filesystem::path LiveRuns::folder_of(std::size_t id) const {
  return many_ ? folder_ / fmt::format("member-{}", id) : folder_;
}

LiveRuns::Run& LiveRuns::run_of(std::size_t id) {
  const auto [entry, fresh] = runs_.try_emplace(id);
  Run& run = entry->second;
  if (fresh) {
    run.folder = folder_of(id);
    run.last = last_step(run.folder);
  }
  return run;
}

HParams LiveRuns::hparams_of(const train::Setting& setting) const {
  HParams hparams = facts_.hparams;
  hparams["optimizer"] = setting.method;
  add_options(hparams, study::resolved_options(setting));
  return hparams;
}

void LiveRuns::add(const train::Member& member, bool ended) {
  Run& run = run_of(member.id);
  if (run.ended) return;
  const double time = now();
  std::vector<Event> events;
  for (const train::Point& point : member.points) {
    const auto step = static_cast<std::int64_t>(point.step);
    if (run.last && step <= *run.last) continue;
    events.emplace_back(time, step);
    write_point(events.back(), point, facts_.optimum);
    run.last = step;
  }
  if (ended) {
    run.ended = true;
    // A member that diverged in the middle of an epoch has no point there.
    const auto step = static_cast<std::int64_t>(member.diverged_at);
    if (events.empty() && member.diverged && step > run.last.value_or(-1)) {
      events.emplace_back(time, step);
      run.last = step;
    }
    // With the last point in one record: without it the end was written before.
    if (!events.empty()) {
      write_end(events.back(), member.points, member.diverged, facts_.optimum, time);
    }
  }
  if (!events.empty()) write(run, member, std::move(events));
}

void LiveRuns::write(Run& run, const train::Member& member, std::vector<Event> events) {
  std::string records;
  if (run.file.empty()) {
    const double time = now();
    run.file = next_event_file(run.folder, static_cast<std::int64_t>(time));
    records = version_record(time);
    // In the record of a point as well: last_step() must not take a beginning for the point.
    experiment_.write(events.front(), metrics());
    write_session_start(events.front(), hparams_of(member.setting), time);
  }
  for (const Event& event : events) records += event.record();
  append_records(run.file, records);
}

}  // namespace tandem::exporting
