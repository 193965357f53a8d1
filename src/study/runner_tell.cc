// SPDX-License-Identifier: MIT
// What a runner says of itself while it works: to whoever called it, and in the store to whoever
// looks on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "study/runner_work.h"

namespace tandem::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kRenewSeconds = 60;
constexpr double kTellSeconds = 0.02;
constexpr double kStoreSeconds = 2;  // between what is told in the store
constexpr std::size_t kCurvePoints = 200;

}  // namespace

bool Runner::tell(Work& work, const Part& part, const train::Trainer& trainer,
                  double part_done) const {
  const double time = now();
  if (time - work.renewed > kRenewSeconds) {
    work.store.renew(part.unit.id, work.owner, kLeaseSeconds);
    work.renewed = time;
  }
  if (time - work.told < kTellSeconds) return true;
  work.told = time;
  const double members =
      static_cast<double>(part.settings.size()) / part.share;  // of the whole unit
  Status& status = work.status;
  status.part =
      (work.work_done + part_done * members * work_of(part.task, part.optimizer)) / work.all_work;
  status.doing = fmt::format(
      "{}: {}{}, epoch {} of {}", task_name(plan_.tasks[part.task].spec),
      study_.optimizers[part.optimizer].label,
      part.unit.phase == store::Phase::tune ? "" : fmt::format(" on seed {}", part.seed),
      trainer.epochs_done() + 1, study_.epochs);
  status.alive = trainer.alive();
  status.member_epochs = timing_.member_epochs;
  status.seconds = time - work.began;
  status.best.clear();
  for (std::size_t o = 0; o < study_.optimizers.size(); ++o) {
    const auto found = work.best.find({part.task, o});
    if (found == work.best.end() || found->second == 0) continue;
    status.best += fmt::format("{}{} {:.6g}", status.best.empty() ? "" : ", ",
                               study_.optimizers[o].label, found->second);
  }
  if (time - work.told_store > kStoreSeconds) {
    work.told_store = time;
    tell_store(work, part, trainer);
  }
  return work.progress(status);
}

void Runner::tell_store(Work& work, const Part& part, const train::Trainer& trainer) const {
  const Status& status = work.status;
  if (work.part_at_first < 0) work.part_at_first = status.part - 1e-12;
  const train::Member* best = nullptr;
  for (const train::Member& member : trainer.members()) {
    if (member.diverged || member.pruned || member.points.size() < 2) continue;
    if (best == nullptr || member.points.back().train_loss < best->points.back().train_loss) {
      best = &member;
    }
  }
  Json curve = {{"task", task_name(plan_.tasks[part.task].spec)},
                {"optimizer", study_.optimizers[part.optimizer].label},
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
  const double gained = status.part - work.part_at_first;
  const bool known = gained > 1e-6 && status.seconds > 5;
  try {
    work.store.tell(work.study.id, {.owner = work.owner,
                                    .part = status.part,
                                    .seconds_left = known ? std::optional((1 - status.part) /
                                                                          gained * status.seconds)
                                                          : std::nullopt,
                                    .doing = status.doing,
                                    .curve = curve.dump()});
  } catch (const store::StoreError&) {
    // It is no result. If the store is out of order, whoever writes one to it will say so.
  }
}

}  // namespace tandem::study
