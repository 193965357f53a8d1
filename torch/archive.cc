// SPDX-License-Identifier: MIT
// The state in torch's archives: options and units by their place.
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <torch/serialize/archive.h>

#include <utility>

#include "parts.h"
#include "unit_state.h"

namespace tandem::optim {

using detail::load_from;
using detail::Member;
using detail::saved;
using detail::Unit;

namespace {

constexpr std::int64_t kArchiveVersion = 1;

c10::IValue list_of(const std::vector<std::int64_t>& values) {
  return c10::IValue(c10::List<std::int64_t>(c10::ArrayRef<std::int64_t>(values)));
}

c10::IValue read(torch::serialize::InputArchive& archive, const std::string& key) {
  c10::IValue value;
  if (!archive.try_read(key, value)) {
    throw StateError(fmt::format("Invalid state: '{}' is missing", key));
  }
  return value;
}

std::int64_t read_count(torch::serialize::InputArchive& archive, const std::string& key) {
  const c10::IValue value = read(archive, key);
  if (!value.isInt() || value.toInt() < 0) {
    throw StateError(fmt::format("Invalid state: '{}' is not a count", key));
  }
  return value.toInt();
}

std::vector<std::int64_t> read_list(torch::serialize::InputArchive& archive,
                                    const std::string& key) {
  const c10::IValue value = read(archive, key);
  if (!value.isIntList()) throw StateError(fmt::format("Invalid state: '{}' is not a list", key));
  return value.toIntVector();
}

}  // namespace

void Optimizer::save(torch::serialize::OutputArchive& archive) const {
  archive.write("tandem", c10::IValue(kArchiveVersion));
  archive.write("rule", c10::IValue(rule()));
  archive.write("skipped", c10::IValue(static_cast<std::int64_t>(parts_->skipped)));
  archive.write("groups", c10::IValue(static_cast<std::int64_t>(param_groups_.size())));
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    const std::string at = fmt::format("group/{}", g);
    std::vector<std::int64_t> sizes;
    for (const at::Tensor& parameter : param_groups_[g].params()) {
      sizes.push_back(parameter.numel());
    }
    archive.write(at + "/sizes", list_of(sizes));
    torch::serialize::OutputArchive options(archive.compilation_unit());
    param_groups_[g].options().serialize(options);
    archive.write(at + "/options", options);
  }
  archive.write("units", c10::IValue(static_cast<std::int64_t>(parts_->units.size())));
  for (std::size_t u = 0; u < parts_->units.size(); ++u) {
    const Unit& unit = parts_->units[u];
    const std::string at = fmt::format("unit/{}", u);
    std::vector<std::int64_t> places;
    for (const Member& member : unit.members()) {
      places.push_back(static_cast<std::int64_t>(member.group));
      places.push_back(static_cast<std::int64_t>(member.index));
    }
    archive.write(at + "/members", list_of(places));
    for (std::size_t m = 0; m < unit.members().size(); ++m) {
      archive.write(fmt::format("{}/strides/{}", at, m), list_of(unit.members()[m].strides));
    }
    const std::string bytes = saved(unit.core());
    const at::Tensor state =
        at::from_blob(const_cast<char*>(bytes.data()), {static_cast<std::int64_t>(bytes.size())},
                      at::TensorOptions().dtype(at::kByte))
            .clone();
    archive.write(at + "/state", state, /*is_buffer=*/true);
  }
}

void Optimizer::load(torch::serialize::InputArchive& archive) {
  const c10::IValue version = read(archive, "tandem");
  if (!version.isInt() || version.toInt() != kArchiveVersion) {
    throw StateError(fmt::format("Invalid state: its format is not version {}", kArchiveVersion));
  }
  const c10::IValue saved_rule = read(archive, "rule");
  if (!saved_rule.isString() || saved_rule.toStringRef() != rule()) {
    throw StateError(fmt::format("Invalid state: it is of rule '{}', expected '{}'",
                                 saved_rule.isString() ? saved_rule.toStringRef() : "", rule()));
  }
  const std::int64_t groups = read_count(archive, "groups");
  if (groups != static_cast<std::int64_t>(param_groups_.size())) {
    throw StateError(fmt::format("Invalid state: it has {} parameter groups, expected {}", groups,
                                 param_groups_.size()));
  }
  std::vector<std::unique_ptr<torch::optim::OptimizerOptions>> options;
  Parts fresh{.rule = rule()};
  fresh.names = parts_->names;
  fresh.skipped = static_cast<std::uint64_t>(read_count(archive, "skipped"));
  for (std::size_t g = 0; g < param_groups_.size(); ++g) {
    const std::string at = fmt::format("group/{}", g);
    const std::vector<std::int64_t> sizes = read_list(archive, at + "/sizes");
    const std::vector<at::Tensor>& parameters = param_groups_[g].params();
    if (sizes.size() != parameters.size()) {
      throw StateError(fmt::format("Invalid state: group {} has {} parameters, expected {}", g,
                                   sizes.size(), parameters.size()));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == parameters[i].numel()) continue;
      throw StateError(fmt::format("Invalid state: {} has {} elements in it, expected {}",
                                   parts_->name_of(parameters[i], g, i), sizes[i],
                                   parameters[i].numel()));
    }
    torch::serialize::InputArchive saved_options;
    if (!archive.try_read(at + "/options", saved_options)) {
      throw StateError(fmt::format("Invalid state: '{}/options' is missing", at));
    }
    options.push_back(param_groups_[g].options().clone());
    options.back()->serialize(saved_options);
    const auto& own = static_cast<const Options&>(*options.back());
    fresh.settings.push_back(detail::settings_of(own));
    detail::look_at(own, fresh.snapshots.emplace_back());
  }
  const std::int64_t units = read_count(archive, "units");
  for (std::int64_t u = 0; u < units; ++u) {
    const std::string at = fmt::format("unit/{}", u);
    const std::vector<std::int64_t> places = read_list(archive, at + "/members");
    std::vector<Member> members;
    for (std::size_t k = 0; k + 1 < places.size(); k += 2) {
      const auto group = static_cast<std::size_t>(places[k]);
      const auto index = static_cast<std::size_t>(places[k + 1]);
      if (group >= param_groups_.size() || index >= param_groups_[group].params().size()) {
        throw StateError(fmt::format("Invalid state: no parameter {} in group {}", index, group));
      }
      const at::Tensor& parameter = param_groups_[group].params()[index];
      Member member = detail::member_of(parameter, group, index);
      member.strides = read_list(archive, fmt::format("{}/strides/{}", at, k / 2));
      if (!detail::are_dense(parameter, member.strides)) {
        throw StateError(fmt::format("Invalid state: the strides of {} do not fit its shape",
                                     parts_->name_of(member)));
      }
      members.push_back(std::move(member));
    }
    if (members.empty()) throw StateError("Invalid state: a unit without parameters");
    at::Tensor state;
    if (!archive.try_read(at + "/state", state, /*is_buffer=*/true) ||
        state.scalar_type() != at::kByte || state.dim() != 1) {
      throw StateError(fmt::format("Invalid state: '{}/state' is missing", at));
    }
    state = state.contiguous();
    const std::string bytes(reinterpret_cast<const char*>(state.data_ptr<std::uint8_t>()),
                            static_cast<std::size_t>(state.numel()));
    const std::string label = parts_->name_of(members.front());
    load_from(fresh.restore_unit(std::move(members)).core(), bytes, label);
  }
  // All of it fits: from here on nothing throws.
  for (std::size_t g = 0; g < options.size(); ++g) {
    param_groups_[g].set_options(std::move(options[g]));
  }
  *parts_ = std::move(fresh);
}

}  // namespace tandem::optim
