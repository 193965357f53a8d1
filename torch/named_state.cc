// SPDX-License-Identifier: MIT
// Unit by unit: which parameters, and its records in order. Arrays as long as the unit has
// coordinates are cut by parameter ("fc.weight", "a"); others belong to the unit ("unit 0", "A").
#include <tandem/torch/named_state.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/state_stream.h"
#include "parts.h"
#include "unit_state.h"

namespace tandem::optim {

using detail::as_parameter;
using detail::for_members;
using detail::Member;
using detail::saved;
using detail::tensor_type;
using detail::Unit;

std::map<std::string, torch::Tensor> Optimizer::state_of(const torch::Tensor& parameter) const {
  std::map<std::string, torch::Tensor> found;
  const auto place = parts_->unit_of.find(parameter.unsafeGetTensorImpl());
  if (place == parts_->unit_of.end()) return found;
  const Unit& unit = parts_->units[place->second];
  for (const StateRecord& record : state_records(saved(unit.core()))) {
    const auto part = [&](const auto& values) {
      if (values.size() != unit.core().dimension()) return;
      for_members(unit, [&](const Member& member, std::size_t offset) {
        if (member.parameter.is_same(parameter)) {
          found[record.name] = as_parameter(values.data() + offset, member).clone();
        }
      });
    };
    if (const auto* floats = std::get_if<std::vector<float>>(&record.value)) part(*floats);
    if (const auto* doubles = std::get_if<std::vector<double>>(&record.value)) part(*doubles);
    if (const auto* halves = std::get_if<std::vector<BFloat16>>(&record.value)) part(*halves);
  }
  return found;
}

namespace {

constexpr const char* kFormat = "tandem-optimizer-state-1";

using Json = nlohmann::json;
using Groups = std::vector<torch::optim::OptimizerParamGroup>;
using Names = std::unordered_map<const void*, std::string>;  // by TensorImpl

/// What the parameters are called in a state. Throws std::invalid_argument where one has no name.
Names owner_names(const Groups& groups, const Names& given, Owners owners) {
  Names names;
  std::size_t place = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<at::Tensor>& parameters = groups[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i, ++place) {
      const void* key = parameters[i].unsafeGetTensorImpl();
      const auto found = given.find(key);
      if (owners == Owners::places) {
        names[key] = fmt::format("{}", place);
      } else if (found != given.end()) {
        names[key] = found->second;
      } else {
        throw std::invalid_argument(
            fmt::format("parameter {} of group {} has no name: call name_parameters first", i, g));
      }
    }
  }
  return names;
}

std::map<std::string, Member> members_by_name(const Groups& groups, const Names& names) {
  std::map<std::string, Member> members;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<at::Tensor>& parameters = groups[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      members.emplace(names.at(parameters[i].unsafeGetTensorImpl()),
                      detail::member_of(parameters[i], g, i));
    }
  }
  return members;
}

/// The names in a state must be the optimizer's, all of them.
void check_names(const Json& found, const std::map<std::string, Member>& expected) {
  if (!found.is_array()) throw StateError("Invalid state: its metadata cannot be read");
  std::set<std::string> missing;
  for (const auto& [name, member] : expected) missing.insert(name);
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

/// A scalar record as text that gives the same bits back.
Json scalar_json(const StateRecord& record) {
  Json json = {{"name", record.name}};
  if (const auto* count = std::get_if<std::uint64_t>(&record.value)) {
    json["count"] = fmt::format("{}", *count);
  } else if (const auto* number = std::get_if<double>(&record.value)) {
    json["number"] = fmt::format("{:016x}", std::bit_cast<std::uint64_t>(*number));
  } else {
    json["text"] = std::get<std::string>(record.value);
  }
  return json;
}

/// Adds the parts of a unit, and gives its description.
Json take_apart(const Unit& unit, const std::string& label, const Names& names,
                std::vector<NamedState::Part>& parts) {
  Json json = {{"parameters", Json::array()}, {"records", Json::array()}};
  for (const Member& member : unit.members()) {
    json["parameters"].push_back(names.at(member.parameter.unsafeGetTensorImpl()));
  }
  std::map<std::string, int> seen;
  for (const StateRecord& record : state_records(saved(unit.core()))) {
    const int repeat = seen[record.name]++;
    const auto add = [&](const auto& values) {
      using T = typename std::decay_t<decltype(values)>::value_type;
      const std::string array =
          repeat == 0 ? record.name : fmt::format("{}.{}", record.name, repeat);
      const bool cut = values.size() == unit.core().dimension();
      json["records"].push_back({{"name", record.name},
                                 {"array", array},
                                 {"by", cut ? "parameter" : "unit"},
                                 {"size", values.size()},
                                 {"type", sizeof(T) == 8   ? "F64"
                                          : sizeof(T) == 4 ? "F32"
                                                           : "BF16"}});
      if (!cut) {
        const auto size = static_cast<std::int64_t>(values.size());
        at::Tensor flat = at::empty({size}, at::TensorOptions().dtype(tensor_type<T>()));
        std::memcpy(flat.data_ptr(), values.data(), values.size() * sizeof(T));
        parts.push_back({label, array, std::move(flat)});
        return;
      }
      for_members(unit, [&](const Member& member, std::size_t offset) {
        parts.push_back(
            {names.at(member.parameter.unsafeGetTensorImpl()), array,
             as_parameter(values.data() + offset, member).clone(at::MemoryFormat::Contiguous)});
      });
    };
    if (const auto* floats = std::get_if<std::vector<float>>(&record.value)) {
      add(*floats);
    } else if (const auto* doubles = std::get_if<std::vector<double>>(&record.value)) {
      add(*doubles);
    } else if (const auto* halves = std::get_if<std::vector<BFloat16>>(&record.value)) {
      add(*halves);
    } else {
      json["records"].push_back(scalar_json(record));
    }
  }
  return json;
}

/// Throws StateError for a field that is not there or not a text.
std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) {
    throw StateError(fmt::format("Invalid state: '{}' is missing in its metadata", key));
  }
  return found->get<std::string>();
}

using Tensors = std::map<std::string, const at::Tensor*>;  // by owner and array

/// The reverse of take_apart() for one unit.
class Assembler {
 public:
  Assembler(const Tensors& tensors, const Unit& unit, std::string label,
            std::vector<std::string> names)
      : tensors_(tensors), unit_(unit), label_(std::move(label)), names_(std::move(names)) {}

  StateRecord record(const Json& json) const {
    StateRecord record{text_at(json, "name"), {}};
    const auto number = [&](const char* key, int base) {
      const std::string text = text_at(json, key);
      std::uint64_t value = 0;
      const char* last = text.data() + text.size();
      const auto [end, error] = std::from_chars(text.data(), last, value, base);
      if (error != std::errc{} || end != last) {
        throw StateError(
            fmt::format("Invalid state: '{}' of '{}' is '{}'", key, record.name, text));
      }
      return value;
    };
    if (json.contains("count")) {
      record.value = number("count", 10);
    } else if (json.contains("number")) {
      record.value = std::bit_cast<double>(number("number", 16));
    } else if (json.contains("text")) {
      record.value = text_at(json, "text");
    } else if (text_at(json, "type") == "F64") {
      record.value = array<double>(json);
    } else if (text_at(json, "type") == "BF16") {
      record.value = array<BFloat16>(json);
    } else {
      record.value = array<float>(json);
    }
    return record;
  }

 private:
  template <class T>
  const at::Tensor& tensor(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      throw StateError(fmt::format("Invalid state: no tensor '{}'", name));
    }
    const at::Tensor& tensor = *found->second;
    if (tensor.scalar_type() != tensor_type<T>() || tensor.layout() != at::kStrided ||
        !tensor.device().is_cpu()) {
      throw StateError(fmt::format("Invalid state: tensor '{}' is {} on {}, expected {} on cpu",
                                   name, at::toString(tensor.scalar_type()), tensor.device().str(),
                                   at::toString(tensor_type<T>())));
    }
    return tensor;
  }

  template <class T>
  std::vector<T> array(const Json& json) const {
    const std::string array = text_at(json, "array");
    std::vector<T> values;
    if (text_at(json, "by") == "unit") {
      const at::Tensor flat = tensor<T>(label_ + "." + array).contiguous();
      values.resize(static_cast<std::size_t>(flat.numel()));
      std::memcpy(values.data(), flat.data_ptr(), values.size() * sizeof(T));
      return values;
    }
    values.resize(unit_.core().dimension());
    std::size_t m = 0;
    for_members(unit_, [&](const Member& member, std::size_t offset) {
      const std::string name = names_[m++] + "." + array;
      const at::Tensor& found = tensor<T>(name);
      if (found.sizes() != member.parameter.sizes()) {
        throw StateError(fmt::format("Invalid state: tensor '{}' has shape [{}], expected [{}]",
                                     name, fmt::join(found.sizes(), ", "),
                                     fmt::join(member.parameter.sizes(), ", ")));
      }
      as_parameter(values.data() + offset, member).copy_(found);
    });
    return values;
  }

  const Tensors& tensors_;
  const Unit& unit_;
  std::string label_;
  std::vector<std::string> names_;
};

}  // namespace

NamedState Optimizer::named_state(Owners owners) const {
  const Names names = owner_names(param_groups_, parts_->names, owners);
  NamedState state;
  Json units = Json::array();
  for (const Unit& unit : parts_->units) {
    units.push_back(take_apart(unit, fmt::format("unit {}", units.size()), names, state.parts));
  }
  Json parameters = Json::array();
  for (const auto& [name, member] : members_by_name(param_groups_, names)) {
    parameters.push_back(name);
  }
  state.facts = {{"format", kFormat},
                 {"rule", rule()},
                 {"parameters", parameters.dump()},
                 {"units", units.dump()},
                 {"skipped", fmt::format("{}", parts_->skipped)}};
  return state;
}

void Optimizer::load_named_state(const NamedState& state, Owners owners) {
  const at::NoGradGuard no_grad;
  const auto fact = [&](const char* key) {
    const auto found = state.facts.find(key);
    return found == state.facts.end() ? std::string() : found->second;
  };
  if (fact("format") != kFormat) {
    throw StateError(fmt::format("its format is '{}', expected '{}'", fact("format"), kFormat));
  }
  if (fact("rule") != rule()) {
    throw StateError(fmt::format("it is of rule '{}', expected '{}'", fact("rule"), rule()));
  }
  const Names all_names = owner_names(param_groups_, parts_->names, owners);
  const std::map<std::string, Member> members = members_by_name(param_groups_, all_names);
  check_names(Json::parse(fact("parameters"), nullptr, false), members);
  const Json units = Json::parse(fact("units"), nullptr, false);
  if (!units.is_array()) throw StateError("Invalid state: its metadata cannot be read");

  parts_->read_groups(param_groups_, static_cast<const Options&>(*defaults_));
  Parts fresh{.rule = rule()};
  fresh.names = parts_->names;
  fresh.settings = parts_->settings;
  fresh.snapshots = parts_->snapshots;
  fresh.skipped = parts_->skipped;
  const std::string skipped = fact("skipped");  // files of the first version have none
  std::from_chars(skipped.data(), skipped.data() + skipped.size(), fresh.skipped);
  Tensors tensors;
  for (const auto& [owner, array, tensor] : state.parts) tensors[owner + "." + array] = &tensor;
  for (const Json& json : units) {
    const auto listed = json.find("parameters");
    const auto records = json.find("records");
    if (listed == json.end() || !listed->is_array() || listed->empty() || records == json.end() ||
        !records->is_array()) {
      throw StateError("Invalid state: its metadata cannot be read");
    }
    std::vector<Member> of_unit;
    std::vector<std::string> names;
    for (const Json& name : *listed) {
      names.push_back(name.is_string() ? name.get<std::string>() : "");
      const auto found = members.find(names.back());
      if (found == members.end()) {
        throw StateError(fmt::format("Invalid state: no parameter '{}' here", names.back()));
      }
      of_unit.push_back(found->second);
    }
    const std::string label = fmt::format("unit {}", fresh.units.size());
    const std::string first = parts_->name_of(of_unit.front());
    Unit& unit = fresh.restore_unit(std::move(of_unit));
    const Assembler assembler(tensors, unit, label, std::move(names));
    std::vector<StateRecord> assembled;
    for (const Json& record : *records) assembled.push_back(assembler.record(record));
    detail::load_from(unit.core(), state_of_records(assembled), first);
  }
  *parts_ = std::move(fresh);
}

}  // namespace tandem::optim
