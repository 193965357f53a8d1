// SPDX-License-Identifier: MIT
#include "serve/catalogue.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "report/web_model.h"
#include "serve/source.h"
#include "store/location.h"
#include "store/store.h"
#include "study/comparison.h"
#include "study/load.h"
#include "study/run_command.h"

namespace tandem::serve {
namespace {

using Json = nlohmann::ordered_json;

// What is kept of each kind: some megabytes each for the largest studies.
constexpr std::size_t kKept = 8;

/// Names and files may hold bytes that are no UTF-8.
Catalogue::Text text_of(const Json& json) {
  return std::make_shared<const std::string>(
      json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

const char* phase_text(store::Phase phase) {
  return phase == store::Phase::tune ? "tune" : "measure";
}

Json run_json(const store::Study& study, const store::Task& task, const store::MemberRow& member) {
  return {{"id", member.id},
          {"task", task.key},
          {"optimizer", member.optimizer},
          {"method", member.method},
          {"phase", phase_text(member.phase)},
          {"seed", member.seed},
          {"diverged", member.diverged},
          {"diverged_at", member.diverged_at},
          {"pruned", member.pruned},
          {"state_bytes", member.state_bytes},
          {"options", member.options},
          {"points", report::web_points(member.points)},
          {"command", study::run_command(study, task, member)}};
}

}  // namespace

Catalogue::Catalogue(const std::vector<std::filesystem::path>& stores) {
  for (const std::filesystem::path& store : stores) {
    sources_.push_back(std::make_unique<Source>(store));
  }
  refresh();
}

Catalogue::~Catalogue() = default;

Catalogue::Overview Catalogue::overview() const {
  const std::lock_guard guard(mutex_);
  return overview_;
}

void Catalogue::refresh() {
  const std::lock_guard one_at_a_time(refreshing_);
  Json json = {{"stores", Json::array()}, {"studies", Json::array()}};
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = *sources_[i];
    for (Json& study : source.studies(i)) json["studies"].push_back(std::move(study));
    json["stores"].push_back(
        {{"id", i},
         {"name", store::short_name(source.file)},
         {"error", source.error.empty() ? Json(nullptr) : Json(source.error)}});
  }
  const Text text = text_of(json);
  {
    const std::lock_guard guard(mutex_);
    if (overview_.text != nullptr && *overview_.text == *text) return;
    overview_ = {.text = text, .number = overview_.number + 1};
  }
  changed_.notify_all();
}

Catalogue::Overview Catalogue::wait(std::uint64_t seen, std::chrono::milliseconds time) const {
  std::unique_lock guard(mutex_);
  changed_.wait_for(guard, time, [&] { return closed_ || overview_.number != seen; });
  return overview_;
}

void Catalogue::close() {
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

bool Catalogue::closed() const {
  const std::lock_guard guard(mutex_);
  return closed_;
}

void Catalogue::wait_closed(std::chrono::milliseconds time) const {
  std::unique_lock guard(mutex_);
  changed_.wait_for(guard, time, [&] { return closed_; });
}

template <class T, class Make>
std::shared_ptr<const T> Catalogue::kept(Shelf<T>& shelf, std::size_t store, std::int64_t study,
                                         const Make& make) {
  if (store >= sources_.size()) return nullptr;
  Source& source = *sources_[store];
  const std::lock_guard guard(source.lock);
  const std::optional<store::Study> found = source.find(study);
  if (!found) return nullptr;
  const std::string revision = source.revision(*found);
  const std::pair key(store, study);
  {
    const std::lock_guard shelves(mutex_);
    const auto known = shelf.find(key);
    if (known != shelf.end() && known->second.revision == revision) return known->second.value;
  }
  std::shared_ptr<const T> value = make(source.now(), *found);
  const std::lock_guard shelves(mutex_);
  if (shelf.size() >= kKept && !shelf.contains(key)) shelf.clear();
  shelf[key] = {.revision = revision, .value = value};
  return value;
}

Catalogue::Text Catalogue::study(std::size_t store, std::int64_t study) {
  return kept(studies_, store, study, [](const store::Store& from, const store::Study& found) {
    const study::StudyRuns runs = study::load_study(from, found.name);
    return text_of(report::web_study(runs, study::compare(runs)));
  });
}

Catalogue::Text Catalogue::runs(std::size_t store, std::int64_t study, const RunQuery& query) {
  const auto table =
      kept(tables_, store, study, [](const store::Store& from, const store::Study& found) {
        return std::make_shared<const RunTable>(from, found.id);
      });
  return table == nullptr ? nullptr : text_of(table->page(query));
}

Catalogue::Text Catalogue::run(std::size_t store, std::int64_t study, std::int64_t run) {
  if (store >= sources_.size()) return nullptr;
  Source& source = *sources_[store];
  const std::lock_guard guard(source.lock);
  const std::optional<store::Study> found = source.find(study);
  if (!found) return nullptr;
  const auto member = source.now().find_member(study, run);
  return member ? text_of(run_json(*found, member->first, member->second)) : nullptr;
}

}  // namespace tandem::serve
