// SPDX-License-Identifier: MIT
#include "study/teller.h"

#include <fmt/format.h>
#include <tandem/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/machine.h"

namespace tandem::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTellSeconds = 0.02;
constexpr double kStoreSeconds = 2;  // between what is told in the store
constexpr std::size_t kCurvePoints = 200;

}  // namespace

Teller::Teller(const StudySpec& study, const StudyPlan& plan, store::Store& store,
               const store::Study& stored, std::string owner,
               const std::function<bool(const Status&)>& progress)
    : study_(study),
      plan_(plan),
      store_(store),
      study_id_(stored.id),
      owner_(std::move(owner)),
      machine_(machine_description()),
      progress_(progress) {}

void Teller::set_progress(const store::Progress& progress) {
  status_.units = progress.units;
  status_.units_done = progress.done;
  work_done_ = progress.work_done;
}

void Teller::set_best(std::size_t task, std::size_t optimizer, double loss) {
  const auto [place, is_new] = best_.try_emplace({task, optimizer}, loss);
  if (!is_new) place->second = std::min(place->second, loss);
}

bool Teller::tell(const std::string& doing) {
  if (!say(doing)) return false;
  if (seconds_now() - told_store_ > kStoreSeconds) tell_store("{}");
  return true;
}

bool Teller::say(const std::string& doing) {
  status_.doing = doing;
  status_.seconds = seconds_now() - began_;
  return progress_(status_);
}

bool Teller::tell(const Part& part, const train::Trainer& trainer, double done,
                  double member_epochs) {
  const double time = seconds_now();
  if (time - told_ < kTellSeconds) return true;
  told_ = time;
  const std::size_t optimizer = part.work.optimizer;
  const PlannedTask& task = plan_.tasks[part.work.task];
  // Of the whole unit.
  const double members = static_cast<double>(part.work.settings.size() * part.work.seeds.size());
  const double unit = (part.begin + part.share * done) * members * task.work[optimizer];
  // The plan does not know whether the loss without lambda's part will choose other settings, which
  // are then measured too.
  status_.part = std::min(1.0, (work_done_ + unit) / plan_.work);
  status_.doing =
      fmt::format("{}: {}{}, epoch {} of {}", task.name, study_.optimizers[optimizer].label,
                  part.phase == store::Phase::tune ? "" : fmt::format(" on seed {}", part.seed),
                  trainer.epochs_done() + 1, study_.epochs);
  status_.alive = trainer.alive();
  status_.member_epochs = member_epochs;
  status_.seconds = time - began_;
  status_.best.clear();
  for (std::size_t o = 0; o < study_.optimizers.size(); ++o) {
    const auto found = best_.find({part.work.task, o});
    if (found == best_.end()) continue;
    status_.best += fmt::format("{}{} {:.6g}", status_.best.empty() ? "" : ", ",
                                study_.optimizers[o].label, found->second);
  }
  if (time - told_store_ > kStoreSeconds) tell_store(curve_of(part, trainer));
  return progress_(status_);
}

void Teller::leave() { store_.untell(study_id_, owner_); }

std::string Teller::curve_of(const Part& part, const train::Trainer& trainer) const {
  const train::Member* best = nullptr;
  for (const train::Member& member : trainer.members()) {
    if (member.diverged || member.pruned || member.points.size() < 2) continue;
    if (best == nullptr || member.points.back().train_loss < best->points.back().train_loss) {
      best = &member;
    }
  }
  Json curve = {{"task", plan_.tasks[part.work.task].name},
                {"optimizer", study_.optimizers[part.work.optimizer].label},
                {"seed", part.seed},
                {"alive", trainer.alive()},
                {"epoch", Json::array()},
                {"train_loss", Json::array()}};
  if (best != nullptr) {
    curve["options"] = best->setting.options;
    // A small chart shows no more, and every viewer gets it every time.
    const std::size_t stride = best->points.size() / kCurvePoints + 1;
    for (std::size_t i = 0; i < best->points.size(); ++i) {
      if (i % stride != 0 && i + 1 != best->points.size()) continue;
      curve["epoch"].push_back(best->points[i].epoch);
      curve["train_loss"].push_back(best->points[i].train_loss);
    }
  }
  return curve.dump();
}

void Teller::tell_store(const std::string& curve) {
  told_store_ = seconds_now();
  if (part_at_first_ < 0) part_at_first_ = status_.part - 1e-12;
  const double gained = status_.part - part_at_first_;
  const bool known = gained > 1e-6 && status_.seconds > 5;
  const store::Worker worker{
      .owner = owner_,
      .part = status_.part,
      .seconds_left =
          known ? std::optional((1 - status_.part) / gained * status_.seconds) : std::nullopt,
      .doing = status_.doing,
      .curve = curve,
      .machine = machine_,
      .target = cpu_target()};
  try {
    store_.tell(study_id_, worker);
  } catch (const store::StudyRemoved&) {
    throw;  // what follows would be for nothing
  } catch (const store::StoreMoved&) {
    throw;
  } catch (const store::StoreError&) {
    // It is no result. If the store is out of order, whoever writes one to it will say so.
  }
}

}  // namespace tandem::study
