// SPDX-License-Identifier: MIT
// For tests of what reads stores: a study of one task whose work is yet to be done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace tandem::store {

struct SmallStudy {
  std::string name = "kdd";
  std::string text = "epochs = 1";
  std::string task = "t";
  std::string optimizer = "adam";
  std::uint64_t tune_seed = 0;
};

/// Adds it with two units, of the tuning seed and of seed 5, in this order. Gives its id.
inline std::int64_t add_small_study(Store& store, const SmallStudy& small) {
  const Study study = store.ensure_study({.name = small.name,
                                          .text = small.text,
                                          .fingerprint = "f",
                                          .version = "1.2.3",
                                          .target = "AVX2",
                                          .machine = "m",
                                          .command = "tandem study kdd.toml",
                                          .created = 1'700'000'000,
                                          .epochs = 1,
                                          .tune_seed = small.tune_seed,
                                          .seeds = {5}});
  const Task task = store.ensure_task({.study_id = study.id,
                                       .key = small.task,
                                       .data = "nsl-kdd",
                                       .model = "logistic",
                                       .lambda = 0.023,
                                       .batch = 64,
                                       .samples = 100,
                                       .dimension = 10,
                                       .data_hash = "h",
                                       .optimum = 0.125});
  store.add_units(study.id, {{.task_id = task.id, .key = "tune", .optimizer = small.optimizer},
                             {.task_id = task.id,
                              .key = "measure",
                              .optimizer = small.optimizer,
                              .phase = Phase::measure,
                              .seed = 5}});
  return study.id;
}

/// Leases the unit and writes what it gave. False where it is done or leased.
inline bool finish_unit(Store& store, std::int64_t study, const Unit& unit,
                        const std::vector<MemberRow>& members) {
  const auto lease = store.lease(study, this_owner(), 3600, unit.key);
  return lease && store.finish(*lease, members);
}

}  // namespace tandem::store
