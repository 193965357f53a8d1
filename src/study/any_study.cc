// SPDX-License-Identifier: MIT
#include "study/any_study.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "study/stored_study.h"

namespace tandem::study {
namespace {

constexpr auto kWait = std::chrono::seconds(1);

/// Whether somebody may have tuned a grid and died before he added what measures its best setting.
bool may_lack_measuring(const store::Store& store, const store::Study& study) {
  std::set<std::pair<std::int64_t, std::string>> tuned;
  std::set<std::pair<std::int64_t, std::string>> measured;
  for (const store::Unit& unit : store.units(study.id)) {
    if (unit.phase == store::Phase::tune) tuned.insert({unit.task_id, unit.optimizer});
    if (unit.phase == store::Phase::measure) measured.insert({unit.task_id, unit.optimizer});
  }
  for (const auto& grid : tuned) {
    if (!measured.contains(grid)) return true;
  }
  return false;
}

/// Nobody asks any more while the store waits for its server.
struct NobodyAsks {
  store::Store& store;
  ~NobodyAsks() {
    store.while_waiting([] {});
  }
};

}  // namespace

AnyStudy::AnyStudy(store::Store& store, RunOptions options, bool stay, Say say)
    : store_(store), options_(std::move(options)), stay_(stay), say_(std::move(say)) {
  options_.part.reset();
  options_.wait = false;  // another study may have units
}

bool AnyStudy::run(const std::function<bool(const Status&)>& progress) try {
  const auto say = [&](const char* doing) {
    Status status;
    status.doing = doing;
    return progress(status);
  };
  const NobodyAsks afterwards{store_};
  while (true) {
    store_.while_waiting([&] {
      if (!say("waiting for the store's server")) throw train::Interrupted();
    });
    bool left = stay_;
    bool worked = false;
    for (const store::Study& study : store_.studies()) {
      if (refused_.contains(study.uid)) continue;
      try {
        const Left here = left_of(study);
        left = left || here != Left::nothing;
        if (here != Left::free) continue;
        Runner* runner = runner_for(study);
        if (runner == nullptr) continue;
        if (!runner->run(store_, progress)) return false;
        worked = true;
        if (const store::Progress now = store_.progress(study.id); now.done == now.units) {
          complete_[study.uid] = now.revision;
        }
      } catch (const store::StudyRemoved& error) {
        say_(fmt::format("study '{}': {}", study.name, error.what()));
      }
    }
    if (worked) continue;
    if (!left) return true;
    if (!say("waiting for units")) return false;
    std::this_thread::sleep_for(kWait);
  }
} catch (const train::Interrupted&) {
  return false;
}

AnyStudy::Left AnyStudy::left_of(const store::Study& study) {
  const store::Progress counts = store_.progress(study.id);
  if (counts.done + counts.leased < counts.units) return Left::free;
  if (counts.done < counts.units) return Left::with_others;
  const auto [known, is_new] = complete_.try_emplace(study.uid, counts.revision);
  if (!is_new && std::exchange(known->second, counts.revision) == counts.revision) {
    return Left::nothing;
  }
  return may_lack_measuring(store_, study) ? Left::free : Left::nothing;
}

Runner* AnyStudy::runner_for(const store::Study& study) {
  if (runner_of_ == study.uid) return runner_.get();
  runner_.reset();  // its data go before others come
  runner_of_.clear();
  try {
    require_target(study);
    RunOptions options = options_;
    options.command = study.command;
    auto runner = std::make_unique<Runner>(stored_study(study, store_.tasks(study.id)), options);
    runner->add(store_);
    runner_ = std::move(runner);
    runner_of_ = study.uid;
    return runner_.get();
  } catch (const store::StudyRemoved&) {
    throw;
  } catch (const store::StoreMoved&) {
    throw;
  } catch (const std::exception& error) {
    refused_.insert(study.uid);
    say_(fmt::format("cannot work on study '{}': {}", study.name, error.what()));
    return nullptr;
  }
}

}  // namespace tandem::study
