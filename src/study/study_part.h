// SPDX-License-Identifier: MIT
// A study in parts, for machines that have no store in common: each works on its part in a store of
// its own, and the stores are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/store.h"
#include "study/study_file.h"
#include "study/study_plan.h"

namespace tandem::study {

/// The second of four is {2, 4}.
struct StudyPart {
  std::size_t number = 1;
  std::size_t of = 1;
};

/// Of "2/4". Throws std::invalid_argument for anything else.
StudyPart parse_part(const std::string& text);

/// Which units each part has. What measures an optimizer's best setting on a task follows from all
/// that tunes it there, so both are in one part; F* is apart. Depends on the study alone.
class StudyCut {
 public:
  StudyCut(const StudySpec& study, const StudyPlan& plan, std::size_t parts);

  /// The number of the part, from 1, that the unit of this task is in.
  std::size_t part_of(std::size_t task, const store::Unit& unit) const;

 private:
  /// Units that stay together: of a task and an optimizer that has a grid of its own. Where whole
  /// grids are measured no unit follows from another, and they are cut by seeds too.
  using Group = std::tuple<std::size_t, std::size_t, std::uint64_t>;
  Group group(std::size_t task, std::size_t optimizer, std::uint64_t seed) const;

  const StudySpec& study_;
  const StudyPlan& plan_;
  std::size_t parts_;
  std::map<Group, std::size_t> part_of_;
};

/// The units of one part, in their order.
class PartUnits {
 public:
  PartUnits(const StudySpec& study, const StudyPlan& plan, StudyPart part,
            const std::vector<std::int64_t>& task_ids);

  /// Those of the part may be taken from now on.
  void offer(const std::vector<store::Unit>& units);
  /// Takes the first that is not done and that nobody has. Where there is none, all_done() says
  /// whether others have some.
  std::optional<store::Lease> take(store::Store& store, std::int64_t study_id,
                                   const std::string& owner, int seconds);
  bool all_done() const { return all_done_; }

 private:
  StudyCut cut_;
  std::size_t number_;
  std::map<std::int64_t, std::size_t> tasks_;               // by the store's number
  std::set<std::pair<std::int64_t, std::string>> untried_;  // place and key
  bool all_done_ = false;
};

}  // namespace tandem::study
