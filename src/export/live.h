// SPDX-License-Identifier: MIT
// Runs as event files of TensorBoard while they train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "export/hparams.h"
#include "train/trainer.h"

namespace tandem::exporting {

/// Members of one training. A file is open only while it is written to, since there may be more
/// members than files that a process may have.
class LiveRuns {
 public:
  struct Facts {
    HParams hparams = {};                // what all members have in common
    std::optional<double> optimum = {};  // F*
  };

  /// A member alone writes into the folder itself, several into FOLDER/member-N. `resumed`: the
  /// training goes on from a checkpoint, and so do the event files that are there. Otherwise throws
  /// std::invalid_argument if there are any: TensorBoard would mix the runs.
  LiveRuns(std::filesystem::path folder, Facts facts, const std::vector<train::Setting>& settings,
           bool resumed);

  /// Writes the points of a member that are not in its files yet; `ended` after its last. A resumed
  /// run begins a new file, after the others in TensorBoard's order. In the files are always whole
  /// records; one that a dying process left unfinished counts as not written.
  void add(const train::Member& member, bool ended);

 private:
  struct Run {
    std::filesystem::path folder;
    std::filesystem::path file = {};        // none before the first record
    std::optional<std::int64_t> last = {};  // step
    bool ended = false;
  };
  std::filesystem::path folder_of(std::size_t id) const;
  Run& run_of(std::size_t id);
  HParams hparams_of(const train::Setting& setting) const;
  void write(Run& run, const train::Member& member, std::vector<Event> events);

  std::filesystem::path folder_;
  Facts facts_;
  bool many_;
  Experiment experiment_;
  std::map<std::size_t, Run> runs_;
};

}  // namespace tandem::exporting
