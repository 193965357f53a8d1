// SPDX-License-Identifier: MIT
#include "study/study_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tandem::study {
namespace {

constexpr std::size_t kMostParts = 10'000;

/// 0 for what is not a whole number in plain digits.
std::size_t whole_number(std::string_view text) {
  std::size_t value = 0;
  if (text.empty() || text.front() == '0') return 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

StudyPart parse_part(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view view = text;
  const StudyPart part{.number = whole_number(view.substr(0, slash)),
                       .of = whole_number(view.substr(std::min(slash + 1, text.size())))};
  if (part.number < 1 || part.number > part.of || part.of > kMostParts) {
    throw std::invalid_argument(
        fmt::format("Invalid part '{}', expected I/N with whole numbers, I from 1 to N and N at "
                    "most {}, such as 1/4",
                    text, kMostParts));
  }
  return part;
}

StudyCut::StudyCut(const StudySpec& study, const StudyPlan& plan, std::size_t parts)
    : study_(study), plan_(plan), parts_(parts) {
  std::map<Group, double> work;
  for (const auto* units : {&plan.tuning, &plan.measuring}) {
    for (const PlannedUnit& unit : *units) {
      work[group(unit.task, unit.optimizer, unit.seed)] +=
          plan.tasks[unit.task].work[unit.optimizer] * static_cast<double>(unit.last - unit.first);
    }
  }
  if (!study.measure_all) {
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      for (std::size_t o = 0; o < plan.optimizers.size(); ++o) {
        work[group(t, o, 0)] +=
            plan.tasks[t].work[o] * static_cast<double>(measured_runs(study, plan.optimizers[o]));
      }
    }
  }
  // The largest first, each to the part that has least so far.
  std::vector<std::pair<double, Group>> groups;
  for (const auto& [each, size] : work) groups.emplace_back(-size, each);
  std::sort(groups.begin(), groups.end());
  std::vector<double> loads(parts, 0);
  for (const auto& [size, each] : groups) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least -= size;
    part_of_[each] = static_cast<std::size_t>(least - loads.begin()) + 1;
  }
}

StudyCut::Group StudyCut::group(std::size_t task, std::size_t optimizer, std::uint64_t seed) const {
  return {task, plan_.optimizers[optimizer].tuned_by, study_.measure_all ? seed : 0};
}

std::size_t StudyCut::part_of(std::size_t task, const store::Unit& unit) const {
  if (unit.phase == store::Phase::optimum) return task % parts_ + 1;
  const auto optimizer =
      std::find_if(study_.optimizers.begin(), study_.optimizers.end(),
                   [&](const OptimizerSpec& each) { return each.label == unit.optimizer; });
  if (optimizer == study_.optimizers.end()) return 1;  // damage, which work_of() explains
  return part_of_.at(
      group(task, static_cast<std::size_t>(optimizer - study_.optimizers.begin()), unit.seed));
}

PartUnits::PartUnits(const StudySpec& study, const StudyPlan& plan, StudyPart part,
                     const std::vector<std::int64_t>& task_ids)
    : cut_(study, plan, part.of), number_(part.number) {
  for (std::size_t t = 0; t < task_ids.size(); ++t) tasks_[task_ids[t]] = t;
}

void PartUnits::offer(const std::vector<store::Unit>& units) {
  for (const store::Unit& unit : units) {
    const auto task = tasks_.find(unit.task_id);
    if (task == tasks_.end() || cut_.part_of(task->second, unit) != number_) continue;
    untried_.insert({unit.place.value_or(0), unit.key});
  }
}

std::optional<store::Lease> PartUnits::take(store::Store& store, std::int64_t study_id,
                                            const std::string& owner, int seconds) {
  const auto take_untried = [&]() -> std::optional<store::Lease> {
    while (!untried_.empty()) {
      const std::string key = untried_.extract(untried_.begin()).value().second;
      if (auto lease = store.lease(study_id, owner, seconds, key)) return lease;
    }
    return std::nullopt;
  };
  if (auto lease = take_untried()) return lease;
  std::vector<store::Unit> left = store.units(study_id);
  std::erase_if(left, [](const store::Unit& unit) { return unit.done; });
  offer(left);
  all_done_ = untried_.empty();
  return take_untried();  // somebody may have given one back
}

}  // namespace tandem::study
