// SPDX-License-Identifier: MIT
// Archives and state files of version 1, from when units held their state: read, never written.
#pragma once

#include <tandem/registry.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/state_stream.h"
#include "fields.h"
#include "state_map.h"
#include "unit_memory.h"

namespace tandem::optim::detail {

/// A unit as it was saved: its parameters, with the strides of its state, and the records of the
/// library's state file.
struct UnitOfVersion1 {
  std::vector<Member> members;
  std::vector<StateRecord> records;
};

/// All functions throw StateError.
std::vector<UnitOfVersion1> units_of_version_1(
    torch::serialize::InputArchive& archive,
    const std::vector<torch::optim::OptimizerParamGroup>& groups);

/// The tensor of a file by its name; throws where there is none.
using FindTensor = std::function<at::Tensor(const std::string& name)>;
/// Of a state file: `units` is its JSON.
std::vector<UnitOfVersion1> units_of_version_1(const std::string& units,
                                               const std::map<std::string, Member>& members,
                                               const FindTensor& find);

/// Adds the states of the units' parameters; gives how many steps the units had skipped.
std::uint64_t take_version_1(const std::string& rule, const std::vector<UnitOfVersion1>& units,
                             const std::vector<Settings>& settings, StateMap& states);

}  // namespace tandem::optim::detail
