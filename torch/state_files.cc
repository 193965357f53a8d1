// SPDX-License-Identifier: MIT
// The state by parameter name in safetensors files, which Python reads and writes too: tensors
// "NAME.KEY", "NAME.unit.ARRAY" and, where an array grows, "NAME.unit.ARRAY.0" and so on; numbers in
// the metadata "scalars".
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "optimizers/declaration.h"
#include "parts.h"
#include "tensors/safetensors.h"
#include "version_1.h"

namespace tandem::optim {

using detail::Member;

namespace {

constexpr const char* kFormat = "tandem-optimizer-state-2";
constexpr const char* kFormat1 = "tandem-optimizer-state-1";

using Json = nlohmann::json;
using Groups = std::vector<torch::optim::OptimizerParamGroup>;
using Metadata = std::map<std::string, std::string>;

constexpr std::array kTypes = {std::pair(tensors::Type::f32, at::kFloat),
                               std::pair(tensors::Type::f64, at::kDouble),
                               std::pair(tensors::Type::bf16, at::kBFloat16)};

struct Named {
  std::string name;
  Member member;
};

/// All parameters in order. Throws std::invalid_argument where one has no name or two have one.
std::vector<Named> named_members(const Groups& groups,
                                 const std::unordered_map<const void*, std::string>& names) {
  std::vector<Named> all;
  std::set<std::string> seen;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<at::Tensor>& parameters = groups[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto found = names.find(parameters[i].unsafeGetTensorImpl());
      if (found == names.end()) {
        throw std::invalid_argument(
            fmt::format("parameter {} of group {} has no name: call name_parameters first", i, g));
      }
      if (!seen.insert(found->second).second) {
        throw std::invalid_argument(
            fmt::format("two parameters are called '{}': a state file needs names of their own",
                        found->second));
      }
      all.push_back({found->second, detail::member_of(parameters[i], g, i)});
    }
  }
  return all;
}

// ---- Writing ---------------------------------------------------------------------------------------

/// Numbers as JSON that gives the same bits back. Sums that are not finite are made anew in any case.
Json json_of(const ParamState::Scalars& scalars) {
  Json json = Json::object();
  bool finite = true;
  for (const auto& [name, scalar] : scalars) {
    if (const auto* count = std::get_if<std::uint64_t>(&scalar)) {
      json[name] = *count;
    } else {
      const double value = std::get<double>(scalar);
      finite = finite && std::isfinite(value);
      json[name] = std::isfinite(value) ? value : 0.0;
    }
  }
  if (!finite && json.contains("sums_known")) json["sums_known"] = 0;
  return json;
}

class Writer {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    const at::Tensor& kept = kept_.emplace_back(tensor.detach().contiguous());
    const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& pair) {
      return pair.second == kept.scalar_type();
    });
    if (type == kTypes.end()) {
      throw std::invalid_argument(fmt::format("the state '{}' is of type {}, which no rule keeps",
                                              name, at::toString(kept.scalar_type())));
    }
    tensors_.push_back({name,
                        type->first,
                        {kept.sizes().begin(), kept.sizes().end()},
                        {static_cast<const std::byte*>(kept.data_ptr()), kept.nbytes()}});
  }
  void add(const std::string& name, const ParamState& state) {
    Json numbers = json_of(state.scalars());
    numbers["step"] = state.step();
    for (const auto& [key, tensor] : state.arrays()) add(name + "." + key, tensor);
    if (state.unit()) {
      numbers["unit"] = json_of(state.unit()->scalars);
      for (const auto& [array, list] : state.unit()->arrays) {
        for (std::size_t p = 0; p < list.size(); ++p) {
          const std::string whole = fmt::format("{}.unit.{}", name, array);
          add(detail::grows(array) ? fmt::format("{}.{}", whole, p) : whole, list[p]);
        }
      }
    }
    scalars_[name] = std::move(numbers);
  }
  void write(const std::string& path, Metadata metadata) const {
    metadata["scalars"] = scalars_.dump();
    tensors::write_safetensors(path, tensors_, metadata);
  }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<tensors::Tensor> tensors_;
  Json scalars_ = Json::object();
};

// ---- Reading ---------------------------------------------------------------------------------------

/// The names in a file must be the optimizer's, all of them.
void check_names(const Json& found, const std::vector<Named>& expected) {
  if (!found.is_array()) throw StateError("Invalid state: its metadata cannot be read");
  std::set<std::string> missing;
  for (const Named& one : expected) missing.insert(one.name);
  std::set<std::string> unknown;
  for (const Json& name : found) {
    const std::string text = name.is_string() ? name.get<std::string>() : "";
    if (missing.erase(text) == 0) unknown.insert(text);
  }
  if (missing.empty() && unknown.empty()) return;
  std::string message = "it is of other parameters";
  if (!missing.empty()) message += fmt::format("; missing in it: '{}'", fmt::join(missing, "', '"));
  if (!unknown.empty()) message += fmt::format("; not here: '{}'", fmt::join(unknown, "', '"));
  throw StateError(message);
}

std::uint64_t count_of(const Metadata& metadata, const char* key) {
  std::uint64_t count = 0;
  const auto found = metadata.find(key);
  if (found == metadata.end()) return count;
  const char* last = found->second.data() + found->second.size();
  const auto [end, error] = std::from_chars(found->second.data(), last, count);
  if (error != std::errc{} || end != last) {
    throw StateError(
        fmt::format("Invalid state: '{}' is '{}', expected a count", key, found->second));
  }
  return count;
}

ParamState::Scalars scalars_of(const Json& json, const std::string& name) {
  ParamState::Scalars scalars;
  if (!json.is_object()) throw StateError("Invalid state: its metadata cannot be read");
  for (const auto& [key, value] : json.items()) {
    if (value.is_number_unsigned()) {
      scalars[key] = value.get<std::uint64_t>();
    } else if (value.is_number()) {
      scalars[key] = value.get<double>();
    } else if (key != "unit") {
      throw StateError(fmt::format("Invalid state: '{}' of '{}' is not a number", key, name));
    }
  }
  return scalars;
}

/// The tensors of a file, which are asked for by name.
class Reader {
 public:
  explicit Reader(const tensors::SafetensorsFile& file) : file_(file) {}

  /// A copy, since data may start at any address; nothing where there is none.
  std::optional<at::Tensor> find(const std::string& name) {
    const tensors::Tensor* const found = file_.find(name);
    if (found == nullptr) return std::nullopt;
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const auto& pair) { return pair.first == found->type; });
    if (known == kTypes.end()) {
      throw StateError(fmt::format("Invalid state: tensor '{}' is {}, expected F32, F64 or BF16",
                                   name, tensors::type_name(found->type)));
    }
    const std::vector<std::int64_t> shape(found->shape.begin(), found->shape.end());
    at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(known->second));
    if (!found->bytes.empty()) {
      std::memcpy(tensor.data_ptr(), found->bytes.data(), found->bytes.size());
    }
    asked_.insert(name);
    return tensor;
  }
  at::Tensor at(const std::string& name) {
    std::optional<at::Tensor> found = find(name);
    if (!found) throw StateError(fmt::format("Invalid state: no tensor '{}'", name));
    return *std::move(found);
  }
  /// A tensor that nobody asked for belongs to something else.
  void finish() const {
    for (const tensors::Tensor& tensor : file_.tensors()) {
      if (asked_.contains(tensor.name)) continue;
      throw StateError(
          fmt::format("Invalid state: tensor '{}' is of no parameter here", tensor.name));
    }
  }

 private:
  const tensors::SafetensorsFile& file_;
  std::set<std::string> asked_;
};

std::unique_ptr<ParamState> read_state(const std::string& rule, const Named& named,
                                       const Json& json, Reader& reader) {
  auto state = std::make_unique<ParamState>();
  ParamState::Scalars scalars = scalars_of(json, named.name);
  const auto step = scalars.find("step");
  if (step == scalars.end() || !std::holds_alternative<std::uint64_t>(step->second)) {
    throw StateError(fmt::format("Invalid state: '{}' has no count 'step'", named.name));
  }
  state->step(static_cast<std::int64_t>(std::get<std::uint64_t>(step->second)));
  scalars.erase(step);
  state->scalars(std::move(scalars));
  const auto unit = json.find("unit");
  if (unit != json.end()) {
    state->unit(UnitState{});
    state->unit()->scalars = scalars_of(*unit, named.name);
  }
  for (const rules::StateArray& array : rules::known_declaration(rule).state) {
    if (array.shape == rules::StateArray::Shape::like_weights) {
      const std::string& key = array.torch.empty() ? array.name : array.torch;
      const at::Tensor found = reader.at(named.name + "." + key);
      // Checked later, with all else; here the shape, on which its place in memory depends.
      const bool fits = found.sizes() == named.member.parameter.sizes();
      state->arrays()[key] = fits ? detail::arranged(found, named.member.strides) : found;
    } else if (array.shape == rules::StateArray::Shape::other && unit != json.end()) {
      const std::string whole = fmt::format("{}.unit.{}", named.name, array.name);
      std::vector<torch::Tensor> list;
      for (bool more = true; more;) {
        const std::optional<at::Tensor> found = reader.find(
            detail::grows(array.name) ? fmt::format("{}.{}", whole, list.size()) : whole);
        if (found) list.push_back(*found);
        more = found && detail::grows(array.name);
      }
      if (!list.empty()) state->unit()->arrays[array.name] = std::move(list);
    }
  }
  return state;
}

}  // namespace

void Optimizer::save_state(const std::string& path) const {
  Writer writer;
  Json parameters = Json::array();
  for (const Named& one : named_members(param_groups_, parts_->names)) {
    parameters.push_back(one.name);
    const ParamState* state = state_of(one.member.parameter);
    if (state != nullptr) writer.add(one.name, *state);
  }
  writer.write(path, {{"format", kFormat},
                      {"rule", rule()},
                      {"parameters", parameters.dump()},
                      {"skipped", fmt::format("{}", parts_->skipped)},
                      {"epoch", fmt::format("{}", parts_->epoch)}});
}

void Optimizer::load_state(const std::string& path) {
  const at::NoGradGuard no_grad;
  try {
    const tensors::SafetensorsFile file(path);
    const auto fact = [&](const char* key) {
      const auto found = file.metadata().find(key);
      return found == file.metadata().end() ? std::string() : found->second;
    };
    if (fact("format") != kFormat && fact("format") != kFormat1) {
      throw StateError(fmt::format("its format is '{}', expected '{}'", fact("format"), kFormat));
    }
    if (fact("rule") != rule()) {
      throw StateError(fmt::format("it is of rule '{}', expected '{}'", fact("rule"), rule()));
    }
    const std::vector<Named> named = named_members(param_groups_, parts_->names);
    check_names(Json::parse(fact("parameters"), nullptr, false), named);

    parts_->read_groups(param_groups_, static_cast<const Options&>(*defaults_));
    Parts fresh{.rule = rule()};
    fresh.names = parts_->names;
    fresh.settings = parts_->settings;
    fresh.snapshots = parts_->snapshots;
    fresh.skipped = count_of(file.metadata(), "skipped");
    fresh.epoch = count_of(file.metadata(), "epoch");
    Reader reader(file);
    detail::StateMap states;
    if (fact("format") == kFormat1) {
      std::map<std::string, Member> members;
      for (const Named& one : named) members.emplace(one.name, one.member);
      const auto units = detail::units_of_version_1(
          fact("units"), members, [&](const std::string& name) { return reader.at(name); });
      fresh.skipped += detail::take_version_1(rule(), units, fresh.settings, states);
    } else {
      const Json scalars = Json::parse(fact("scalars"), nullptr, false);
      if (!scalars.is_object()) throw StateError("Invalid state: its metadata cannot be read");
      for (const Named& one : named) {
        const auto found = scalars.find(one.name);
        if (found == scalars.end()) continue;
        states[one.member.key] = read_state(rule(), one, *found, reader);
      }
      reader.finish();
    }
    fresh.take_loaded(param_groups_, states);
    state_ = std::move(states);
    *parts_ = std::move(fresh);
  } catch (const tensors::TensorFileError& error) {
    throw StateError(error.what());
  } catch (const StateError& error) {
    throw StateError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace tandem::optim
