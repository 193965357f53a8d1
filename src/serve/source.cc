// SPDX-License-Identifier: MIT
#include "serve/source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <vector>

namespace tandem::serve {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json to_json(const store::Worker& worker) {
  const Json curve = Json::parse(worker.curve, nullptr, /*allow_exceptions=*/false);
  return {{"owner", worker.owner},
          {"machine", worker.machine},
          {"target", worker.target},
          {"began", worker.began},
          {"updated", worker.updated},
          {"part", number(worker.part)},
          {"seconds_left", number(worker.seconds_left)},
          {"doing", worker.doing},
          {"curve", curve.is_object() ? curve : Json::object()}};
}

/// Differs whenever something else is to be seen of a study, another study of its number and name
/// included.
std::string revision_of(const store::Study& study, const store::Progress& progress) {
  return fmt::format("{}-{}", study.uid, progress.revision);
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Catalogue::Source::Stamp Catalogue::Source::stamp(bool of_copy) const {
  Stamp stamp;
  struct stat found = {};
  if (stat(file.c_str(), &found) != 0) return stamp;
  stamp.device = found.st_dev;
  stamp.number = found.st_ino;
  if (!of_copy) return stamp;
  stamp.size = found.st_size;
  stamp.changed = nanoseconds(found.st_mtim);
  if (stat((file.string() + "-wal").c_str(), &found) == 0) {
    stamp.log_size = found.st_size;
    stamp.log_changed = nanoseconds(found.st_mtim);
  }
  return stamp;
}

const store::Store& Catalogue::Source::now() {
  if (store_ && stamp(store_->is_copy()) == stamp_) return *store_;
  store_.reset();
  // Before it is opened: what is written meanwhile is seen at the next look.
  const Stamp as_file = stamp(false);
  const Stamp as_copy = stamp(true);
  store_ = store::Store::open(file, store::Store::Mode::read);
  stamp_ = store_->is_copy() ? as_copy : as_file;
  return *store_;
}

Json Catalogue::Source::studies(std::size_t number_of_store) {
  Json list = Json::array();
  const std::lock_guard guard(lock);
  error.clear();
  try {
    const store::Store& store = now();
    for (const store::Study& study : store.studies()) {
      const store::Progress progress = store.progress(study.id);
      const std::vector<store::Worker> workers = store.workers(study.id);
      double part = progress.units == 0
                        ? 0
                        : static_cast<double>(progress.done) / static_cast<double>(progress.units);
      std::optional<double> left;
      Json at_work = Json::array();
      for (const store::Worker& worker : workers) {
        part = &worker == &workers.front() ? worker.part : std::max(part, worker.part);
        if (worker.seconds_left) left = std::min(left.value_or(HUGE_VAL), *worker.seconds_left);
        at_work.push_back(to_json(worker));
      }
      const bool running = !workers.empty() || progress.leased > 0;
      const bool complete = progress.units > 0 && progress.done == progress.units;
      list.push_back({{"store", number_of_store},
                      {"id", study.id},
                      {"name", study.name},
                      {"created", study.created},
                      {"epochs", study.epochs},
                      {"tasks", progress.tasks},
                      {"members", progress.members},
                      {"units", progress.units},
                      {"done", progress.done},
                      {"state", running    ? "running"
                                : complete ? "complete"
                                           : "stopped"},
                      {"part", complete ? Json(1) : number(part)},
                      {"seconds_left", number(left)},
                      {"command", study.command},
                      {"version", study.version},
                      {"machine", study.machine},
                      {"workers", std::move(at_work)},
                      {"revision", revision_of(study, progress)}});
    }
  } catch (const std::exception& trouble) {
    error = trouble.what();
    store_.reset();
    list = Json::array();
  }
  return list;
}

std::optional<store::Study> Catalogue::Source::find(std::int64_t study) {
  for (const store::Study& one : now().studies()) {
    if (one.id == study) return one;
  }
  return std::nullopt;
}

std::string Catalogue::Source::revision(const store::Study& study) {
  return revision_of(study, now().progress(study.id));
}

}  // namespace tandem::serve
