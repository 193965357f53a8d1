// SPDX-License-Identifier: MIT
#include "version_1.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/errors.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "optimizers/declaration.h"
#include "read_archive.h"
#include "units.h"

namespace tandem::optim::detail {
namespace {

using Json = nlohmann::json;

StateError unreadable() { return StateError("Invalid state: its metadata cannot be read"); }

/// Whether the rule keeps nothing but numbers and arrays that are shaped like the parameters.
bool shaped(const std::string& rule) {
  for (const rules::StateArray& array : rules::known_declaration(rule).state) {
    if (array.shape == rules::StateArray::Shape::other) return false;
  }
  return true;
}

/// Numbers and arrays of a state by name; of a span some have an entry for each row.
struct Saved {
  std::map<std::string, std::string> texts = {};
  std::map<std::string, std::vector<Scalar>> scalars = {};
  std::map<std::string, std::vector<at::Tensor>> arrays = {};

  std::uint64_t count(const std::string& name) const {
    const auto found = scalars.find(name);
    const auto* value =
        found == scalars.end() ? nullptr : std::get_if<std::uint64_t>(&found->second.front());
    if (value == nullptr) throw StateError(fmt::format("Invalid state: no count '{}'", name));
    return *value;
  }
  double number(const std::string& name, std::size_t row) const {
    const auto found = scalars.find(name);
    if (found == scalars.end() || found->second.size() <= row) throw unreadable();
    return std::visit([](auto value) { return static_cast<double>(value); }, found->second[row]);
  }
  const at::Tensor& array(const std::string& name, std::size_t row = 0) const {
    const auto found = arrays.find(name);
    if (found == arrays.end() || found->second.size() <= row) {
      throw StateError(fmt::format("Invalid state: no array '{}'", name));
    }
    return found->second[row];
  }
};

template <class T>
at::Tensor flat(const std::vector<T>& values) {
  constexpr ElementType kType = std::is_same_v<T, BFloat16> ? ElementType::bfloat16
                                : std::is_same_v<T, float>  ? ElementType::float32
                                                            : ElementType::float64;
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())},
                                at::TensorOptions().dtype(scalar_type(kType)));
  if (!values.empty()) std::memcpy(tensor.data_ptr(), values.data(), values.size() * sizeof(T));
  return tensor;
}

Saved saved_of(const std::vector<StateRecord>& records) {
  Saved saved;
  for (const StateRecord& record : records) {
    const auto take = [&](const auto& value) {
      using T = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<T, std::string>) {
        saved.texts[record.name] = value;
      } else if constexpr (std::is_arithmetic_v<T>) {
        saved.scalars[record.name].emplace_back(value);
      } else {
        saved.arrays[record.name].push_back(flat(value));
      }
    };
    std::visit(take, record.value);
  }
  return saved;
}

/// The arrays of Full-TO's span form as they lie in the caller's memory: row after row.
std::map<std::string, at::Tensor> span_arrays(const Saved& saved) {
  const std::uint64_t rows = saved.count("rows");
  const auto listed = saved.arrays.find("row");
  if (rows != (listed == saved.arrays.end() ? 0 : listed->second.size())) throw unreadable();
  if (rows == 0) return {};
  std::vector<at::Tensor> products;
  std::vector<at::Tensor> weights_at;
  std::vector<double> facts;
  const at::Tensor x = saved.array("x").contiguous();
  const at::Tensor y = saved.array("y").contiguous();
  const auto wide = [](const at::Tensor& tensor, std::uint64_t count) {
    if (tensor.scalar_type() != at::kDouble || tensor.numel() != static_cast<std::int64_t>(count)) {
      throw unreadable();
    }
  };
  wide(x, rows);
  wide(y, rows);
  for (std::uint64_t k = 0; k < rows; ++k) {
    const bool residual = saved.number("is_residual", k) != 0;
    wide(saved.array("products", k), k + 1);
    wide(saved.array("weights_at", k), residual ? k : 0);
    products.push_back(saved.array("products", k));
    weights_at.push_back(residual ? saved.array("weights_at", k)
                                  : at::zeros({static_cast<std::int64_t>(k)},
                                              at::TensorOptions().dtype(at::kDouble)));
    facts.insert(facts.end(),
                 {saved.number("alpha", k), saved.number("beta", k), x.data_ptr<double>()[k],
                  y.data_ptr<double>()[k], residual ? 1.0 : 0.0});
  }
  return {{"history", at::cat(listed->second)},
          {"products", at::cat(products)},
          {"weights_at", at::cat(weights_at)},
          {"row_facts", flat(facts)}};
}

/// A state that is not shaped like the parameters.
UnitState unit_state(const Saved& saved, const std::string& rule, const UnitOfVersion1& unit,
                     const std::vector<Settings>& settings) {
  for (const Member& member : unit.members) {
    if (same_order(member.parameter.sizes(), member.strides, row_major(member.parameter))) continue;
    throw StateError(
        "Invalid state: an earlier version wrote it for parameters that are not contiguous, in "
        "another order of coordinates");
  }
  // An optimizer with these options knows what it needs beside these numbers.
  const Unit made(rule, unit.members, settings, false);
  const ElementType weights = element_type(made.type());
  const std::vector<StateNeed::Scalar> names = made.core().state_needs(weights).back().scalars;
  const bool span = saved.texts.contains("form") && saved.texts.at("form") == "span";
  UnitState state;
  std::vector<std::uint64_t> numbers;
  for (const auto& [name, is_double] : names) {
    std::uint64_t bits = 0;
    const auto found = saved.scalars.find(name);
    if (found != saved.scalars.end()) {
      bits = is_double ? std::bit_cast<std::uint64_t>(saved.number(name, 0)) : saved.count(name);
    } else if (name == "dense") {
      bits = span ? 0 : 1;
    }
    numbers.push_back(bits);
    if (!is_kept(name)) continue;
    state.scalars[name] = is_double ? Scalar(std::bit_cast<double>(bits)) : Scalar(bits);
  }
  std::map<std::string, at::Tensor> arrays;
  if (span) {
    arrays = span_arrays(saved);
  } else {
    for (const auto& [name, list] : saved.arrays) arrays[name] = list.front();
  }
  const StatePart part{numbers.data(), numbers.size()};
  const StateMemory scalars{"scalars", ElementType::uint64, {&part, 1}};
  std::vector<StateNeed> needs = made.core().state_needs(weights, {&scalars, 1});
  needs.pop_back();
  for (const StateNeed& need : needs) {
    const at::TensorOptions type = at::TensorOptions().dtype(scalar_type(need.type));
    at::Tensor left = at::empty({0}, type);
    if (const auto found = arrays.find(need.name); found != arrays.end()) left = found->second;
    if (left.scalar_type() != scalar_type(need.type)) {
      throw StateError(fmt::format("Invalid state: array '{}' is of type {}, expected {}",
                                   need.name, at::toString(left.scalar_type()),
                                   at::toString(scalar_type(need.type))));
    }
    for (const std::size_t count : need.parts) {
      at::Tensor tensor = at::zeros({static_cast<std::int64_t>(count)}, type);
      const std::int64_t taken = std::min(left.numel(), tensor.numel());
      tensor.narrow(0, 0, taken).copy_(left.narrow(0, 0, taken));
      left = left.narrow(0, taken, left.numel() - taken);
      state.arrays[need.name].push_back(std::move(tensor));
    }
    if (left.numel() > 0) {
      throw StateError(fmt::format("Invalid state: array '{}' is too long", need.name));
    }
  }
  return state;
}

/// An array that is shaped like the parameters: what of it is of one of them.
at::Tensor cut(const at::Tensor& all, const Member& member, std::size_t first) {
  at::Tensor tensor = at::empty_strided(member.parameter.sizes(), member.strides, all.options());
  const std::size_t size = all.element_size();
  std::memcpy(tensor.data_ptr(), static_cast<const char*>(all.data_ptr()) + first * size,
              member.count * size);
  return tensor;
}

std::uint64_t take_unit(const std::string& rule, const UnitOfVersion1& unit,
                        const std::vector<Settings>& settings, StateMap& states) {
  const Saved saved = saved_of(unit.records);
  std::size_t dimension = 0;
  for (const Member& member : unit.members) dimension += member.count;
  if (!saved.texts.contains("rule") || saved.texts.at("rule") != rule ||
      saved.count("dimension") != dimension || saved.count("step") == 0) {
    throw StateError(
        fmt::format("Invalid state: it is not of rule '{}' with dimension {}", rule, dimension));
  }
  const std::uint64_t skipped = saved.count("skipped");
  if (saved.texts.contains("type") && saved.texts.at("type") == "none") return skipped;
  std::size_t first = 0;
  for (const Member& member : unit.members) {
    auto state = std::make_unique<ParamState>();
    state->step(static_cast<std::int64_t>(saved.count("step") - 1));
    if (!shaped(rule)) {
      if (first == 0) state->unit(unit_state(saved, rule, unit, settings));
    } else {
      for (const rules::StateArray& array : rules::known_declaration(rule).state) {
        if (array.shape != rules::StateArray::Shape::like_weights) continue;
        const at::Tensor& all = saved.array(array.name);
        if (all.numel() != static_cast<std::int64_t>(dimension)) throw unreadable();
        state->arrays()[array.torch.empty() ? array.name : array.torch] = cut(all, member, first);
      }
      for (const auto& [name, values] : saved.scalars) {
        if (is_kept(name) && name != "dimension") state->scalars()[name] = values.front();
      }
    }
    first += member.count;
    if (!states.emplace(member.key, std::move(state)).second) {
      throw StateError("Invalid state: it has a parameter twice");
    }
  }
  return skipped;
}

}  // namespace

std::uint64_t take_version_1(const std::string& rule, const std::vector<UnitOfVersion1>& units,
                             const std::vector<Settings>& settings, StateMap& states) {
  std::uint64_t skipped = 0;
  try {
    for (const UnitOfVersion1& unit : units) skipped += take_unit(rule, unit, settings, states);
  } catch (const std::invalid_argument& error) {
    throw StateError(fmt::format("Invalid state: {}", error.what()));
  }
  return skipped;
}

// ---- Archives --------------------------------------------------------------------------------------

std::vector<UnitOfVersion1> units_of_version_1(
    torch::serialize::InputArchive& archive,
    const std::vector<torch::optim::OptimizerParamGroup>& groups) {
  std::vector<UnitOfVersion1> units;
  const std::int64_t count = read_count(archive, "units");
  for (std::int64_t u = 0; u < count; ++u) {
    const std::string at = fmt::format("unit/{}", u);
    const std::vector<std::int64_t> places = read_list(archive, at + "/members");
    UnitOfVersion1 unit;
    for (std::size_t k = 0; k + 1 < places.size(); k += 2) {
      const auto group = static_cast<std::size_t>(places[k]);
      const auto index = static_cast<std::size_t>(places[k + 1]);
      if (group >= groups.size() || index >= groups[group].params().size()) {
        throw StateError(fmt::format("Invalid state: no parameter {} in group {}", index, group));
      }
      Member member = member_of(groups[group].params()[index], group, index);
      member.strides = read_list(archive, fmt::format("{}/strides/{}", at, k / 2));
      if (member.count == 0 || !are_dense(member.parameter, member.strides)) {
        throw StateError(fmt::format(
            "Invalid state: the strides of parameter {} of group {} do not fit its shape", index,
            group));
      }
      unit.members.push_back(std::move(member));
    }
    if (unit.members.empty()) throw StateError("Invalid state: a unit without parameters");
    const at::Tensor state = read_tensor(archive, at + "/state").contiguous();
    if (state.scalar_type() != at::kByte) throw unreadable();
    unit.records = state_records({static_cast<const char*>(state.data_ptr()), state.nbytes()});
    units.push_back(std::move(unit));
  }
  return units;
}

// ---- State files -----------------------------------------------------------------------------------

namespace {

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) {
    throw StateError(fmt::format("Invalid state: '{}' is missing in its metadata", key));
  }
  return found->get<std::string>();
}

std::uint64_t count_at(const Json& json, const char* key, int base) {
  const std::string text = text_at(json, key);
  std::uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value, base);
  if (error != std::errc{} || end != last) {
    throw StateError(fmt::format("Invalid state: '{}' is '{}'", key, text));
  }
  return value;
}

/// The values of an array, which the file has by parameter, or in one for the unit.
template <class T>
std::vector<T> array_at(const Json& json, const std::string& label, const UnitOfVersion1& unit,
                        const std::vector<std::string>& names, const FindTensor& find) {
  const std::string array = text_at(json, "array");
  std::vector<T> values;
  const auto append = [&](const at::Tensor& tensor) {
    if (tensor.element_size() != sizeof(T)) throw unreadable();
    const std::size_t before = values.size();
    values.resize(before + static_cast<std::size_t>(tensor.numel()));
    if (tensor.numel() == 0) return;
    std::memcpy(values.data() + before, tensor.data_ptr(), tensor.nbytes());
  };
  if (text_at(json, "by") == "unit") {
    append(find(label + "." + array));
    return values;
  }
  for (std::size_t m = 0; m < names.size(); ++m) {
    const std::string name = names[m] + "." + array;
    const at::Tensor found = find(name);
    const Member& member = unit.members[m];
    if (found.sizes() != member.parameter.sizes()) {
      throw StateError(fmt::format("Invalid state: tensor '{}' has shape [{}], expected [{}]", name,
                                   fmt::join(found.sizes(), ", "),
                                   fmt::join(member.parameter.sizes(), ", ")));
    }
    append(arranged(found, member.strides));
  }
  return values;
}

}  // namespace

std::vector<UnitOfVersion1> units_of_version_1(const std::string& units,
                                               const std::map<std::string, Member>& members,
                                               const FindTensor& find) {
  const Json all = Json::parse(units, nullptr, false);
  if (!all.is_array()) throw unreadable();
  std::vector<UnitOfVersion1> out;
  for (const Json& json : all) {
    const auto listed = json.find("parameters");
    const auto records = json.find("records");
    if (listed == json.end() || !listed->is_array() || listed->empty() || records == json.end() ||
        !records->is_array()) {
      throw unreadable();
    }
    UnitOfVersion1 unit;
    std::vector<std::string> names;
    for (const Json& name : *listed) {
      names.push_back(name.is_string() ? name.get<std::string>() : "");
      const auto found = members.find(names.back());
      if (found == members.end() || found->second.count == 0) {
        throw StateError(fmt::format("Invalid state: no parameter '{}' here", names.back()));
      }
      unit.members.push_back(found->second);
    }
    const std::string label = fmt::format("unit {}", out.size());
    for (const Json& record : *records) {
      StateRecord one{text_at(record, "name"), {}};
      if (record.contains("count")) {
        one.value = count_at(record, "count", 10);
      } else if (record.contains("number")) {
        one.value = std::bit_cast<double>(count_at(record, "number", 16));
      } else if (record.contains("text")) {
        one.value = text_at(record, "text");
      } else if (text_at(record, "type") == "F64") {
        one.value = array_at<double>(record, label, unit, names, find);
      } else if (text_at(record, "type") == "BF16") {
        one.value = array_at<BFloat16>(record, label, unit, names, find);
      } else {
        one.value = array_at<float>(record, label, unit, names, find);
      }
      unit.records.push_back(std::move(one));
    }
    out.push_back(std::move(unit));
  }
  return out;
}

}  // namespace tandem::optim::detail
