// SPDX-License-Identifier: MIT
#include "export/runs.h"

#include <algorithm>
#include <string>

namespace tandem::exporting {
namespace {

std::vector<std::string> optimizers_of(const std::vector<store::MemberRow>& members) {
  std::vector<std::string> labels;
  for (const store::MemberRow& member : members) {
    const bool known = std::find(labels.begin(), labels.end(), member.optimizer) != labels.end();
    if (!known) labels.push_back(member.optimizer);
  }
  return labels;
}

}  // namespace

void for_each_run(const store::Store& store, const Selection& selection, Points points,
                  const std::function<void(const RunRef&)>& visit) {
  for (const store::Study& study : selection.studies) {
    for (const store::Task& task : store.tasks(study.id)) {
      const auto wanted = [&](const store::MemberRow& member) {
        return selection.grid || member.phase == store::Phase::measure;
      };
      const std::vector<store::MemberRow> members = store.members(task.id, store::Curves::none);
      if (points == Points::with && selection.grid) {
        for (const std::string& optimizer : optimizers_of(members)) {
          for (const store::MemberRow& member :
               store.members(task.id, store::Curves::all, optimizer)) {
            visit(RunRef{study, task, member});
          }
        }
        continue;
      }
      for (const store::MemberRow& member : members) {
        if (!wanted(member)) continue;
        // One by one: grids have hundreds of times as many points as measured runs.
        const auto found =
            points == Points::with ? store.find_member(study.id, member.id) : std::nullopt;
        visit(RunRef{study, task, found ? found->second : member});
      }
    }
  }
}

}  // namespace tandem::exporting
