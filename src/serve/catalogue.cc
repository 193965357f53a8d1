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

// Texts that are kept: some megabytes each for the largest studies.
constexpr std::size_t kTexts = 8;

/// Names and files may hold bytes that are no UTF-8.
Catalogue::Text text_of(const Json& json) {
  return std::make_shared<const std::string>(
      json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

const char* phase_text(store::Phase phase) {
  return phase == store::Phase::tune ? "tune" : "measure";
}

Json least_loss(const store::MemberRow& member) {
  const study::Run run{.diverged = member.diverged, .points = member.points};
  const std::optional<double> loss = study::min_loss(run);
  return loss ? Json(*loss) : Json(nullptr);
}

Json runs_json(const store::Store& store, std::int64_t study) {
  Json json = {{"tasks", Json::array()}, {"runs", Json::array()}};
  for (const store::Task& task : store.tasks(study)) {
    const std::size_t number = json["tasks"].size();
    json["tasks"].push_back(task.key);
    for (const store::MemberRow& member : store.members(task.id, true)) {
      json["runs"].push_back({{"id", member.id},
                              {"task", number},
                              {"optimizer", member.optimizer},
                              {"phase", phase_text(member.phase)},
                              {"seed", member.seed},
                              {"loss", least_loss(member)},
                              {"diverged", member.diverged},
                              {"pruned", member.pruned},
                              {"options", member.options}});
    }
  }
  return json;
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

template <class Make>
Catalogue::Text Catalogue::kept(const char* kind, std::size_t store, std::int64_t study,
                                const Make& make) {
  if (store >= sources_.size()) return nullptr;
  Source& source = *sources_[store];
  const std::lock_guard guard(source.lock);
  const std::optional<store::Study> found = source.find(study);
  if (!found) return nullptr;
  const std::string revision = source.revision(*found);
  const std::string key = fmt::format("{}/{}/{}", kind, store, study);
  {
    const std::lock_guard texts(mutex_);
    const auto text = texts_.find(key);
    if (text != texts_.end() && text->second.revision == revision) return text->second.text;
  }
  Text text = text_of(make(source.now(), *found));
  const std::lock_guard texts(mutex_);
  if (texts_.size() >= kTexts && !texts_.contains(key)) texts_.clear();
  texts_[key] = {.revision = revision, .text = text};
  return text;
}

Catalogue::Text Catalogue::study(std::size_t store, std::int64_t study) {
  return kept("study", store, study, [](const store::Store& from, const store::Study& found) {
    const study::StudyRuns runs = study::load_study(from, found.name);
    return report::web_study(runs, study::compare(runs));
  });
}

Catalogue::Text Catalogue::runs(std::size_t store, std::int64_t study) {
  return kept("runs", store, study, [](const store::Store& from, const store::Study& found) {
    return runs_json(from, found.id);
  });
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
