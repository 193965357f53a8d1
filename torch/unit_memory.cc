// SPDX-License-Identifier: MIT
#include "unit_memory.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "optimizers/declaration.h"

namespace tandem::optim::detail {
namespace {

constexpr std::size_t kStep = 0;  // the library's first scalar: the step about to be made

/// Sums over a scope that RO-TO carries from step to step.
bool is_carried_sum(std::string_view scalar) {
  constexpr std::array kSums = {"sums_known", "cw", "ww", "aa", "ab", "weights_hash"};
  return std::find(kSums.begin(), kSums.end(), scalar) != kSums.end();
}

/// The key of an array in torch's own optimizer, where it has the rule.
std::string key_of(const std::string& rule, const std::string& array) {
  for (const rules::StateArray& one : rules::known_declaration(rule).state) {
    if (one.name == array && !one.torch.empty()) return one.torch;
  }
  return array;
}

/// State is no part of a graph, wherever the step is made.
at::Tensor new_tensor(at::IntArrayRef sizes, const Strides& strides, ElementType type) {
  const c10::InferenceMode normal(false);
  return at::empty_strided(sizes, strides, at::TensorOptions().dtype(scalar_type(type)));
}
at::Tensor new_zeros(std::size_t count, ElementType type) {
  const c10::InferenceMode normal(false);
  return at::zeros({static_cast<std::int64_t>(count)},
                   at::TensorOptions().dtype(scalar_type(type)));
}

std::uint32_t version_of(c10::TensorImpl& tensor) {
  return tensor.is_inference() ? 0 : tensor.version_counter().current_version();
}

/// Why no step can be made on a tensor of the state, or "".
std::string obstacle(const at::Tensor& tensor) {
  if (!tensor.defined()) return "is not defined";
  if (tensor.layout() != at::kStrided) return "is sparse, expected a dense tensor";
  if (!tensor.device().is_cpu()) {
    return fmt::format("is on device {}, expected cpu", tensor.device().str());
  }
  return "";
}

/// The library's messages begin with the rule's name, which ours do later.
std::string without_rule(const std::string& rule, const std::exception& error) {
  const std::string what = error.what();
  return what.starts_with(rule + ": ") ? what.substr(rule.size() + 2) : what;
}

}  // namespace

Member member_of(const at::Tensor& parameter, std::size_t group, std::size_t index) {
  return {parameter,
          group,
          index,
          state_key(parameter),
          state_strides(parameter),
          static_cast<std::size_t>(parameter.numel()),
          parameter.dim()};
}

bool is_kept(std::string_view scalar) {
  constexpr std::array kNot = {"step",          "epoch",         "skipped",
                               "residual_norm", "gradient_norm", "delta"};
  return std::find(kNot.begin(), kNot.end(), scalar) == kNot.end();
}

bool grows(std::string_view array) {
  constexpr std::array kLists = {"history", "products", "weights_at", "row_facts"};
  return std::find(kLists.begin(), kLists.end(), array) != kLists.end();
}

ElementType element_type(at::ScalarType type) {
  if (type == at::kDouble) return ElementType::float64;
  if (type == at::kBFloat16) return ElementType::bfloat16;
  return ElementType::float32;
}

at::ScalarType scalar_type(ElementType type) {
  if (type == ElementType::float64) return at::kDouble;
  if (type == ElementType::bfloat16) return at::kBFloat16;
  return at::kFloat;
}

UnitMemory::UnitMemory(const std::string& rule, const tandem::Optimizer& core, ElementType weights)
    : rule_(rule), weights_(weights), needs_(core.state_needs(weights)) {
  const StateNeed scalars = std::move(needs_.back());
  needs_.pop_back();
  for (const StateNeed& need : needs_) {
    shaped_ = shaped_ && need.like_weights;
    fields_.push_back({need.name, key_of(rule, need.name), need.type, scalar_type(need.type)});
  }
  std::sort(fields_.begin(), fields_.end(),
            [](const Field& x, const Field& y) { return x.key < y.key; });
  // NaN: no diagnostics yet.
  scalars_.assign(scalars.scalars.size(),
                  std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()));
  const bool has_sums = std::any_of(scalars.scalars.begin(), scalars.scalars.end(),
                                    [](const auto& one) { return one.name == "sums_known"; });
  for (std::size_t i = 0; i < scalars.scalars.size(); ++i) {
    const auto& [name, is_double] = scalars.scalars[i];
    if (!is_double) scalars_[i] = 0;
    if (name == "dense") dense_ = i;
    if (name == "sums_known") sums_known_ = i;
    if (is_kept(name)) {
      numbers_.push_back({name, i, is_double, has_sums && is_carried_sum(name)});
    }
  }
  std::sort(numbers_.begin(), numbers_.end(),
            [](const Number& x, const Number& y) { return x.name < y.name; });
}

std::size_t UnitMemory::look_up(const StateMap& states, const std::vector<Member>& members) {
  states_.assign(members.size(), nullptr);
  std::size_t found = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const auto place = states.find(members[m].key);
    if (place == states.end() || place->second == nullptr) continue;
    torch::optim::OptimizerParamState& state = *place->second;
    if (typeid(state) != typeid(ParamState)) {
      throw BadState(m, "its state is of another optimizer, expected a tandem::optim::ParamState");
    }
    states_[m] = static_cast<ParamState*>(&state);
    ++found;
  }
  return found;
}

std::size_t UnitMemory::first_without() const {
  return static_cast<std::size_t>(std::find(states_.begin(), states_.end(), nullptr) -
                                  states_.begin());
}

void UnitMemory::create(StateMap& states, const std::vector<Member>& members) {
  is_new_ = true;
  for (std::size_t m = 0; m < members.size(); ++m) {
    auto state = std::make_unique<ParamState>();
    states_[m] = state.get();
    if (shaped_) {
      for (const Field& field : fields_) {
        state->arrays()[field.key] =
            new_tensor(members[m].parameter.sizes(), members[m].strides, field.type);
      }
    } else if (m == 0) {
      state->unit(UnitState{});
      for (const StateNeed& need : needs_) {
        for (const std::size_t count : need.parts) {
          state->unit()->arrays[need.name].push_back(new_zeros(count, need.type));
        }
      }
    }
    if (shaped_ || m == 0) {
      for (const Number& number : numbers_) numbers_of(m)[number.name] = Scalar();
    }
    states[members[m].key] = std::move(state);
  }
}

// ---- Arrays ----------------------------------------------------------------------------------------

void UnitMemory::take(const at::Tensor& tensor, std::size_t place) {
  c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  places_[place] = {tensor.data_ptr(), tensor.nbytes(), version_of(*impl)};
  tensors_[place] = impl;
}

bool UnitMemory::take_arrays_of(const Member& member, std::size_t m) {
  const auto fits = [&](const Field& field, const at::Tensor& tensor) {
    return tensor.defined() && tensor.scalar_type() == field.tensor_type &&
           tensor.layout() == at::kStrided && tensor.device().is_cpu() &&
           tensor.sizes() == member.parameter.sizes() && lies_as(tensor, member.strides) &&
           !tensor.is_neg();
  };
  const ParamState::Arrays& arrays = states_[m]->arrays();
  std::size_t place = m * fields_.size();
  auto at = arrays.begin();
  for (const Field& field : fields_) {  // by key, both
    while (at != arrays.end() && at->first != field.key) ++at;
    if (at == arrays.end() || !fits(field, at->second)) return false;
    take(at->second, place++);
    ++at;
  }
  return true;
}

void UnitMemory::take_arrays(std::vector<Member>& members) {
  places_.resize(fields_.size() * members.size());
  tensors_.resize(places_.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (take_arrays_of(members[m], m)) continue;
    arrange(members[m], m);
    take_arrays_of(members[m], m);
  }
}

void UnitMemory::list_arrays() {
  const std::size_t members = states_.size();
  memory_.clear();
  parts_.resize(fields_.size());
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    parts_[f].clear();
    for (std::size_t m = 0; m < members; ++m) {
      const auto numel = static_cast<std::size_t>(tensors_[m * fields_.size() + f]->numel());
      parts_[f].push_back({places_[m * fields_.size() + f].data, numel});
    }
    memory_.push_back({fields_[f].name, fields_[f].type, parts_[f]});
  }
}

void UnitMemory::arrange(Member& member, std::size_t m) {
  ParamState::Arrays& arrays = states_[m]->arrays();
  for (const Field& field : fields_) {
    const auto found = arrays.find(field.key);
    if (found == arrays.end()) throw BadState(m, fmt::format("its state has no '{}'", field.key));
    const at::Tensor& tensor = found->second;
    const std::string reason = obstacle(tensor);
    if (!reason.empty()) throw BadState(m, fmt::format("its state '{}' {}", field.key, reason));
    if (tensor.sizes() != member.parameter.sizes()) {
      throw BadState(m, fmt::format("its state '{}' has shape [{}], expected [{}]", field.key,
                                    fmt::join(tensor.sizes(), ", "),
                                    fmt::join(member.parameter.sizes(), ", ")));
    }
    if (tensor.scalar_type() != field.tensor_type) {
      throw BadState(
          m, fmt::format("its state '{}' is of type {}, expected {}", field.key,
                         at::toString(tensor.scalar_type()), at::toString(field.tensor_type)));
    }
  }
  const at::Tensor& first = arrays.at(fields_.front().key);
  const Strides strides = first.strides().vec();
  member.strides = are_dense(member.parameter, strides) ? strides : state_strides(member.parameter);
  for (const Field& field : fields_) {
    at::Tensor& tensor = arrays.at(field.key);
    tensor = arranged(tensor, member.strides);
  }
}

void UnitMemory::take_unit_arrays() {
  for (std::size_t m = 0; m < states_.size(); ++m) {
    if (states_[m]->unit().has_value() == (m == 0)) continue;
    throw BadState(m, m == 0 ? "its state has no 'unit'"
                             : "its state has a 'unit' of its own, expected one for all parameters "
                               "of its scope");
  }
  std::size_t count = 0;
  for (const auto& [name, list] : states_[0]->unit()->arrays) count += list.size();
  places_.resize(count);
  tensors_.resize(count);
  std::size_t place = 0;
  for (auto& [name, list] : states_[0]->unit()->arrays) {
    std::optional<at::ScalarType> type;
    for (at::Tensor& tensor : list) {
      const std::string reason = obstacle(tensor);
      if (!reason.empty()) throw BadState(0, fmt::format("'{}' of its unit {}", name, reason));
      const at::ScalarType found = tensor.scalar_type();
      const bool known = found == at::kFloat || found == at::kDouble || found == at::kBFloat16;
      if (!known || type.value_or(found) != found) {
        throw BadState(0, fmt::format("'{}' of its unit is of type {}, expected one of float, "
                                      "double and bfloat16 for all its parts",
                                      name, at::toString(found)));
      }
      type = found;
      if (tensor.dim() != 1 || !tensor.is_contiguous() || tensor.is_neg()) {
        tensor = tensor.resolve_neg().reshape({-1}).contiguous();
      }
      take(tensor, place++);
    }
  }
}

void UnitMemory::list_unit_arrays() {
  const auto& arrays = states_[0]->unit()->arrays;
  memory_.clear();
  parts_.resize(arrays.size());
  std::size_t a = 0;
  for (const auto& [name, list] : arrays) {
    if (list.empty()) continue;
    parts_[a].clear();
    for (const at::Tensor& tensor : list) {
      parts_[a].push_back({tensor.data_ptr(), static_cast<std::size_t>(tensor.numel())});
    }
    memory_.push_back({name, element_type(list.front().scalar_type()), parts_[a++]});
  }
}

void UnitMemory::list_memory() {
  if (shaped_) {
    list_arrays();
  } else {
    list_unit_arrays();
  }
  scalars_part_ = {scalars_.data(), scalars_.size()};
  memory_.push_back({"scalars", ElementType::uint64, {&scalars_part_, 1}});
}

void UnitMemory::grow(const tandem::Optimizer& core) {
  list_memory();
  std::vector<StateNeed> needs;
  try {
    needs = core.state_needs(weights_, memory_);
  } catch (const std::invalid_argument& error) {
    throw BadState(0, without_rule(rule_, error));
  } catch (const StateError& error) {
    throw BadState(0, without_rule(rule_, error));
  }
  needs.pop_back();  // the scalars
  auto& arrays = states_[0]->unit()->arrays;
  bool more = false;
  for (const StateNeed& need : needs) {
    const auto found = arrays.find(need.name);
    const std::size_t before = found == arrays.end() ? 0 : found->second.size();
    if (before >= need.parts.size()) continue;
    more = true;
    grown_.emplace_back(need.name, before);
    for (std::size_t p = before; p < need.parts.size(); ++p) {
      arrays[need.name].push_back(new_zeros(need.parts[p], need.type));
    }
  }
  if (more) take_unit_arrays();
}

// ---- Numbers ---------------------------------------------------------------------------------------

ParamState::Scalars& UnitMemory::numbers_of(std::size_t m) {
  return shaped_ ? states_[m]->scalars() : states_[0]->unit()->scalars;
}

bool UnitMemory::numbers_are_as_they_were() {
  const auto bits_of = [](const Scalar& scalar) {
    if (const auto* count = std::get_if<std::uint64_t>(&scalar)) return *count;
    return std::bit_cast<std::uint64_t>(std::get<double>(scalar));
  };
  for (const ParamState* state : states_) {
    if (static_cast<std::uint64_t>(state->step()) + 1 != scalars_[kStep]) return false;
  }
  for (std::size_t m = 0; m < (shaped_ ? states_.size() : 1) && !numbers_.empty(); ++m) {
    const ParamState::Scalars& scalars = numbers_of(m);
    if (scalars.size() != numbers_.size()) return false;
    auto at = scalars.begin();
    for (const Number& number : numbers_) {  // by name, both
      if (at->first != number.name || at->second.index() != (number.is_double ? 1U : 0U) ||
          bits_of(at->second) != scalars_[number.at]) {
        return false;
      }
      ++at;
    }
  }
  return true;
}

bool UnitMemory::read_numbers(bool arrays_changed) {
  if (!arrays_changed && numbers_are_as_they_were()) return false;
  taken_ = scalars_;
  std::int64_t step = 0;
  for (std::size_t m = 0; m < states_.size(); ++m) {
    if (states_[m]->step() < 0) {
      throw BadState(m, fmt::format("its state has step {}", states_[m]->step()));
    }
    step = std::max(step, states_[m]->step());
  }
  taken_[kStep] = static_cast<std::uint64_t>(step) + 1;

  bool sums_hold = !arrays_changed || trusted_;
  for (std::size_t m = 0; m < (shaped_ ? states_.size() : 1); ++m) {
    ParamState::Scalars& scalars = numbers_of(m);
    auto at = scalars.begin();
    for (const Number& number : numbers_) {  // by name, both
      while (at != scalars.end() && at->first < number.name) ++at;
      if (at == scalars.end() || at->first != number.name) {
        if (!number.is_sum) throw BadState(m, fmt::format("its state has no '{}'", number.name));
        at = scalars.emplace_hint(at, number.name, Scalar());
        sums_hold = false;
      }
      const auto* count = std::get_if<std::uint64_t>(&at->second);
      const auto* value = std::get_if<double>(&at->second);
      if (value != nullptr && !number.is_double) {
        throw BadState(m,
                       fmt::format("its state '{}' is {}, expected a count", number.name, *value));
      }
      const std::uint64_t bits = !number.is_double
                                     ? *count
                                     : std::bit_cast<std::uint64_t>(
                                           value != nullptr ? *value : static_cast<double>(*count));
      if (m == 0) taken_[number.at] = bits;
      if (taken_[number.at] != bits) {
        if (!number.is_sum) {
          throw BadState(m, fmt::format("its state '{}' is not that of the first parameter of its "
                                        "scope",
                                        number.name));
        }
        sums_hold = false;
      }
      ++at;
    }
  }
  if (sums_known_ && !sums_hold) taken_[*sums_known_] = 0;
  if (taken_ == scalars_) return false;
  // In place: the optimizer knows where they are.
  std::copy(taken_.begin(), taken_.end(), scalars_.begin());
  return true;
}

void UnitMemory::write_numbers() noexcept {
  for (std::size_t m = 0; m < (shaped_ ? states_.size() : 1); ++m) {
    ParamState::Scalars& scalars = numbers_of(m);
    auto at = scalars.begin();
    for (const Number& number : numbers_) {
      while (at->first != number.name) ++at;  // all are there
      const std::uint64_t bits = scalars_[number.at];
      at->second = number.is_double ? Scalar(std::bit_cast<double>(bits)) : Scalar(bits);
    }
  }
}

// ---- A step ----------------------------------------------------------------------------------------

void UnitMemory::use(tandem::Optimizer& core, bool start) {
  valid_ = false;
  bound_ = places_;
  list_memory();
  try {
    core.use_memory(weights_, memory_, start);
  } catch (const std::invalid_argument& error) {
    throw BadState(0, without_rule(rule_, error));
  } catch (const StateError& error) {
    throw BadState(0, without_rule(rule_, error));
  }
  valid_ = true;
}

void UnitMemory::bind(tandem::Optimizer& core, std::vector<Member>& members) {
  grown_.clear();
  rebound_ = false;
  if (shaped_) {
    take_arrays(members);
  } else {
    take_unit_arrays();
  }
  const bool changed = places_ != bound_;
  rebound_ = changed;
  if (is_new_) return use(core, true);
  const bool others = read_numbers(changed);
  if (may_grow()) {
    grow(core);
    rebound_ = true;
    use(core, false);
  } else if (!valid_ || changed || others) {
    use(core, false);
  }
  trusted_ = false;
}

void UnitMemory::store() noexcept {
  const auto made = static_cast<std::int64_t>(scalars_[kStep] - 1);
  for (ParamState* state : states_) state->step(made);
  write_numbers();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    c10::TensorImpl& tensor = *tensors_[i];
    if (tensor.is_inference()) continue;
    tensor.bump_version();
    bound_[i].version = version_of(tensor);
  }
  if (dense_ && scalars_[*dense_] == 1) {
    std::erase_if(states_[0]->unit()->arrays, [](const auto& array) { return grows(array.first); });
  }
  grown_.clear();
  rebound_ = false;
  is_new_ = false;
}

void UnitMemory::undo(StateMap& states, const std::vector<Member>& members) noexcept {
  if (is_new_) {
    for (const Member& member : members) states.erase(member.key);
    states_.clear();
  }
  for (const auto& [name, before] : grown_) {
    auto& arrays = states_[0]->unit()->arrays;
    const auto list = arrays.find(name);
    if (list == arrays.end()) continue;
    list->second.resize(std::min(before, list->second.size()));
    if (before == 0) arrays.erase(list);
  }
  // Whatever was other than before is still so in the next step.
  if (rebound_) {
    bound_.clear();
    valid_ = false;
  }
  grown_.clear();
  rebound_ = false;
}

}  // namespace tandem::optim::detail
