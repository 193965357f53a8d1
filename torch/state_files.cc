// SPDX-License-Identifier: MIT
// The state in torch's archives, and by parameter name in safetensors files.
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/serialize/archive.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include "base/state_stream.h"
#include "parts.h"
#include "tensors/safetensors.h"

namespace tandem::optim {
namespace {

using detail::Member;
using detail::Unit;

std::string saved(const tandem::Optimizer& optimizer) {
  std::ostringstream stream;
  optimizer.save(stream);
  return std::move(stream).str();
}

void load_from(tandem::Optimizer& optimizer, const std::string& bytes, const std::string& label) {
  std::istringstream stream(bytes);
  try {
    optimizer.load(stream);
  } catch (const StateError& error) {
    throw StateError(fmt::format("{}: {}", label, error.what()));
  }
}

/// Part of a flat array of the state, in the parameter's shape and order; may be the same memory.
template <class T>
at::Tensor as_parameter(const T* values, const Member& member) {
  const auto type = std::is_same_v<T, double> ? at::kDouble : at::kFloat;
  return at::from_blob(const_cast<T*>(values), member.parameter.sizes(), member.strides,
                       at::TensorOptions().dtype(type))
      .contiguous();
}

/// Calls take(member, first element) for the members, which lie one after the other.
template <class Take>
void for_members(const Unit& unit, const Take& take) {
  std::size_t offset = 0;
  for (const Member& member : unit.members()) {
    take(member, offset);
    offset += member.count;
  }
}

}  // namespace

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
  }
  return found;
}

// ---- Archives ------------------------------------------------------------------------------------

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
    fresh.settings.push_back(detail::settings_of(static_cast<const Options&>(*options.back())));
    fresh.fingerprints.push_back(detail::fingerprint(static_cast<const Options&>(*options.back())));
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

// ---- Safetensors ---------------------------------------------------------------------------------

namespace {

constexpr const char* kFormat = "tandem-optimizer-state-1";

/// A scalar record as text that gives the same bits back.
nlohmann::json scalar_json(const StateRecord& record) {
  nlohmann::json json = {{"name", record.name}};
  if (const auto* count = std::get_if<std::uint64_t>(&record.value)) {
    json["count"] = fmt::format("{}", *count);
  } else if (const auto* number = std::get_if<double>(&record.value)) {
    json["number"] = fmt::format("{:016x}", std::bit_cast<std::uint64_t>(*number));
  } else {
    json["text"] = std::get<std::string>(record.value);
  }
  return json;
}

/// The file's name of a parameter, which must have one.
const std::string& file_name(const std::unordered_map<const void*, std::string>& names,
                             const Member& member) {
  const auto found = names.find(member.parameter.unsafeGetTensorImpl());
  if (found == names.end()) {
    throw std::invalid_argument(
        fmt::format("parameter {} of group {} has no name: call name_parameters first",
                    member.index, member.group));
  }
  return found->second;
}

using Groups = std::vector<torch::optim::OptimizerParamGroup>;

std::map<std::string, Member> members_by_name(
    const Groups& groups, const std::unordered_map<const void*, std::string>& names) {
  std::map<std::string, Member> members;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<at::Tensor>& parameters = groups[g].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Member member = detail::member_of(parameters[i], g, i);
      members.emplace(file_name(names, member), member);
    }
  }
  return members;
}

/// The names in a file must be the optimizer's, all of them.
void check_names(const nlohmann::json& found, const std::map<std::string, Member>& expected) {
  if (!found.is_array()) throw StateError("Invalid state: its metadata cannot be read");
  std::set<std::string> missing;
  for (const auto& [name, member] : expected) missing.insert(name);
  std::set<std::string> unknown;
  for (const nlohmann::json& name : found) {
    const std::string text = name.is_string() ? name.get<std::string>() : "";
    if (missing.erase(text) == 0) unknown.insert(text);
  }
  if (missing.empty() && unknown.empty()) return;
  std::string message = "it is of other parameters";
  if (!missing.empty()) message += fmt::format("; missing in it: '{}'", fmt::join(missing, "', '"));
  if (!unknown.empty()) message += fmt::format("; not here: '{}'", fmt::join(unknown, "', '"));
  throw StateError(message);
}

template <class T>
constexpr tensors::Type tensor_type() {
  return std::is_same_v<T, double> ? tensors::Type::f64 : tensors::Type::f32;
}

template <class T>
std::span<const std::byte> bytes_of(const T* values, std::size_t count) {
  return {reinterpret_cast<const std::byte*>(values), count * sizeof(T)};
}

/// Unit by unit: which parameters, and its records in order. Arrays as long as the unit has
/// coordinates are cut by parameter ("fc.weight.a"); others belong to the unit ("unit 0.A").
class FileWriter {
 public:
  void add(const Unit& unit, const std::unordered_map<const void*, std::string>& names) {
    const std::string label = fmt::format("unit {}", units_.size());
    nlohmann::json json = {{"parameters", nlohmann::json::array()},
                           {"records", nlohmann::json::array()}};
    for (const Member& member : unit.members()) {
      json["parameters"].push_back(file_name(names, member));
    }
    std::map<std::string, int> seen;
    for (StateRecord& record : records_.emplace_back(state_records(saved(unit.core())))) {
      const int repeat = seen[record.name]++;
      std::visit(
          [&](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::vector<float>> ||
                          std::is_same_v<Value, std::vector<double>>) {
              const std::string array =
                  repeat == 0 ? record.name : fmt::format("{}.{}", record.name, repeat);
              const bool cut = value.size() == unit.core().dimension();
              json["records"].push_back({{"name", record.name},
                                         {"array", array},
                                         {"by", cut ? "parameter" : "unit"},
                                         {"size", value.size()},
                                         {"type", sizeof(value[0]) == 8 ? "F64" : "F32"}});
              if (!cut) {
                tensors_.push_back({label + "." + array,
                                    tensor_type<typename Value::value_type>(),
                                    {value.size()},
                                    bytes_of(value.data(), value.size())});
                return;
              }
              for_members(unit, [&](const Member& member, std::size_t offset) {
                const at::Tensor& part =
                    parts_.emplace_back(as_parameter(value.data() + offset, member));
                std::vector<std::uint64_t> shape;
                for (const std::int64_t size : part.sizes()) {
                  shape.push_back(static_cast<std::uint64_t>(size));
                }
                tensors_.push_back(
                    {file_name(names, member) + "." + array,
                     tensor_type<typename Value::value_type>(), shape,
                     bytes_of(static_cast<const typename Value::value_type*>(part.data_ptr()),
                              member.count)});
              });
            } else {
              json["records"].push_back(scalar_json(record));
            }
          },
          record.value);
    }
    units_.push_back(std::move(json));
  }

  void write(const std::string& path, const std::string& rule,
             const std::set<std::string>& parameters) const {
    tensors::write_safetensors(path, tensors_,
                               {{"format", kFormat},
                                {"rule", rule},
                                {"parameters", nlohmann::json(parameters).dump()},
                                {"units", units_.dump()}});
  }

 private:
  nlohmann::json units_ = nlohmann::json::array();
  std::vector<tensors::Tensor> tensors_;
  std::deque<std::vector<StateRecord>> records_;  // what tensors_ point into
  std::deque<at::Tensor> parts_;
};

/// Throws StateError for a field that is not there or not a text.
std::string text_at(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) {
    throw StateError(fmt::format("Invalid state: '{}' is missing in its metadata", key));
  }
  return found->get<std::string>();
}

/// An array of a unit out of the file.
template <class T>
std::vector<T> read_array(const tensors::SafetensorsFile& file, const nlohmann::json& record,
                          const Unit& unit, const std::string& label,
                          const std::vector<std::string>& names) {
  const std::string array = text_at(record, "array");
  const auto tensor = [&](const std::string& name) -> const tensors::Tensor& {
    const tensors::Tensor* found = file.find(name);
    if (found == nullptr) throw StateError(fmt::format("Invalid state: no tensor '{}'", name));
    if (found->type != tensor_type<T>()) {
      throw StateError(fmt::format("Invalid state: tensor '{}' is of another type", name));
    }
    return *found;
  };
  std::vector<T> values;
  if (text_at(record, "by") == "unit") {
    const tensors::Tensor& found = tensor(label + "." + array);
    values.resize(found.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), found.bytes.data(), found.bytes.size());
    return values;
  }
  values.resize(unit.core().dimension());
  std::size_t m = 0;
  for_members(unit, [&](const Member& member, std::size_t offset) {
    const tensors::Tensor& found = tensor(names[m++] + "." + array);
    const std::vector<std::uint64_t> shape(member.parameter.sizes().begin(),
                                           member.parameter.sizes().end());
    if (found.shape != shape) {
      throw StateError(fmt::format("Invalid state: tensor '{}' has shape [{}], expected [{}]",
                                   found.name, fmt::join(found.shape, ", "),
                                   fmt::join(shape, ", ")));
    }
    std::vector<T> in_order(member.count);
    std::memcpy(in_order.data(), found.bytes.data(), found.bytes.size());
    const auto options =
        at::TensorOptions().dtype(std::is_same_v<T, double> ? at::kDouble : at::kFloat);
    at::from_blob(values.data() + offset, member.parameter.sizes(), member.strides, options)
        .copy_(at::from_blob(in_order.data(), member.parameter.sizes(), options));
  });
  return values;
}

StateRecord read_record(const tensors::SafetensorsFile& file, const nlohmann::json& json,
                        const Unit& unit, const std::string& label,
                        const std::vector<std::string>& names) {
  StateRecord record{text_at(json, "name"), {}};
  const auto number = [&](const char* key, int base) {
    const std::string text = text_at(json, key);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) {
      throw StateError(fmt::format("Invalid state: '{}' of '{}' is '{}'", key, record.name, text));
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
    record.value = read_array<double>(file, json, unit, label, names);
  } else {
    record.value = read_array<float>(file, json, unit, label, names);
  }
  return record;
}

}  // namespace

void Optimizer::save_state(const std::string& path) const {
  FileWriter writer;
  for (const Unit& unit : parts_->units) writer.add(unit, parts_->names);
  std::set<std::string> names;
  for (const auto& [name, member] : members_by_name(param_groups_, parts_->names)) {
    names.insert(name);
  }
  writer.write(path, rule(), names);
}

void Optimizer::load_state(const std::string& path) {
  try {
    load_state_file(path);
  } catch (const tensors::TensorFileError& error) {
    throw StateError(error.what());
  } catch (const StateError& error) {
    throw StateError(fmt::format("{}: {}", path, error.what()));
  }
}

void Optimizer::load_state_file(const std::string& path) {
  const tensors::SafetensorsFile file(path);
  const auto meta = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  if (meta("format") != kFormat) {
    throw StateError(fmt::format("its format is '{}', expected '{}'", meta("format"), kFormat));
  }
  if (meta("rule") != rule()) {
    throw StateError(fmt::format("it is of rule '{}', expected '{}'", meta("rule"), rule()));
  }
  const std::map<std::string, Member> members = members_by_name(param_groups_, parts_->names);
  check_names(nlohmann::json::parse(meta("parameters"), nullptr, false), members);
  const nlohmann::json units = nlohmann::json::parse(meta("units"), nullptr, false);
  if (!units.is_array()) throw StateError("Invalid state: its metadata cannot be read");

  parts_->read_groups(param_groups_, static_cast<const Options&>(*defaults_));
  Parts fresh{.rule = rule()};
  fresh.names = parts_->names;
  fresh.settings = parts_->settings;
  fresh.fingerprints = parts_->fingerprints;
  for (const nlohmann::json& json : units) {
    const auto listed = json.find("parameters");
    const auto records = json.find("records");
    if (listed == json.end() || !listed->is_array() || listed->empty() || records == json.end() ||
        !records->is_array()) {
      throw StateError("Invalid state: its metadata cannot be read");
    }
    std::vector<Member> of_unit;
    std::vector<std::string> names;
    for (const nlohmann::json& name : *listed) {
      names.push_back(name.is_string() ? name.get<std::string>() : "");
      const auto found = members.find(names.back());
      if (found == members.end()) {
        throw StateError(fmt::format("Invalid state: no parameter '{}' here", names.back()));
      }
      of_unit.push_back(found->second);
    }
    const std::string label = fmt::format("unit {}", fresh.units.size());
    Unit& unit = fresh.restore_unit(std::move(of_unit));
    std::vector<StateRecord> state;
    for (const nlohmann::json& record : *records) {
      state.push_back(read_record(file, record, unit, label, names));
    }
    load_from(unit.core(), state_of_records(state), fmt::format("parameter '{}'", names.front()));
  }
  fresh.skipped = parts_->skipped;
  *parts_ = std::move(fresh);
}

}  // namespace tandem::optim
