// SPDX-License-Identifier: MIT
// How far a unit is: what a process that gives it back, or dies, leaves to the one that takes it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace tandem::study {

/// A unit trains populations one after another: a wave of settings on a seed each. Of those that
/// are done only the results are kept, of the one in training all that the rest depends on.
class UnitCheckpoint {
 public:
  /// Larger ones are not made: such a unit begins anew.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  /// Begins with nothing. `settings` are those of each population, in order.
  explicit UnitCheckpoint(std::vector<std::vector<train::Setting>> settings)
      : settings_(std::move(settings)) {}

  /// From bytes() of a unit with the same populations; nothing where it is of others, of another
  /// version, or damaged: the unit then begins anew.
  void read(const std::string& bytes);

  /// Populations that are done.
  const std::vector<std::vector<train::Member>>& done() const { return done_; }
  /// Makes the trainer of the next one what it was; it is as it is where nothing was kept of it.
  /// False if what was kept cannot be loaded; the trainer is then of no use.
  bool resume(train::Trainer& trainer) const;

  /// The population in training is that far; nothing is kept where that is too much.
  void keep(const train::Trainer& trainer);
  /// It is done.
  void finish(const std::vector<train::Member>& members);
  /// All of it, for read().
  std::string bytes() const;

 private:
  std::vector<std::vector<train::Setting>> settings_;
  std::vector<std::vector<train::Member>> done_;
  std::string running_;  // of Trainer::save
};

}  // namespace tandem::study
