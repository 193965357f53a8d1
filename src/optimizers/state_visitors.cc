// SPDX-License-Identifier: MIT
#include "optimizers/state_visitors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace tandem {
namespace {

const char* type_text(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return "float";
    case ElementType::float64:
      return "double";
    case ElementType::bfloat16:
      return "bfloat16";
    case ElementType::uint64:
      return "uint64";
  }
  return "unknown";
}

}  // namespace

template <class T>
void WriteState::write(const char* name, const StateArray<T>& array) {
  std::vector<std::span<const T>> parts;
  for (std::size_t p = 0; p < array.parts(); ++p) parts.push_back(array.span(p));
  writer_.array_in_parts<T>(name, parts);
}
template void WriteState::write(const char*, const StateArray<float>&);
template void WriteState::write(const char*, const StateArray<double>&);
template void WriteState::write(const char*, const StateArray<BFloat16>&);

template <class T>
void ReadState::read(const char* name, StateArray<T>& array) {
  std::vector<std::span<T>> parts;
  for (std::size_t p = 0; p < array.parts(); ++p) parts.push_back(array.span(p));
  reader_.array_in_parts<T>(name, parts);
}
template void ReadState::read(const char*, StateArray<float>&);
template void ReadState::read(const char*, StateArray<double>&);
template void ReadState::read(const char*, StateArray<BFloat16>&);

std::vector<StateNeed> ListState::take() {
  StateNeed scalars{kScalars, ElementType::uint64, false, {scalars_.size()}, std::move(scalars_)};
  needs_.push_back(std::move(scalars));
  return std::move(needs_);
}

std::span<const StatePart> CallersMemory::find(std::string_view name, ElementType type,
                                               std::span<const std::size_t> parts) const {
  const auto fail = [&](const std::string& what) {
    return std::invalid_argument(fmt::format("{}: Invalid state: {}", rule_, what));
  };
  const auto found = std::find_if(memory_.begin(), memory_.end(),
                                  [&](const StateMemory& one) { return one.name == name; });
  if (found == memory_.end()) throw fail(fmt::format("array '{}' is missing", name));
  if (found->type != type) {
    throw fail(fmt::format("array '{}' is of type {}, expected {}", name, type_text(found->type),
                           type_text(type)));
  }
  if (found->parts.size() < parts.size()) {
    throw fail(fmt::format("array '{}' has {} parts, expected {}", name, found->parts.size(),
                           parts.size()));
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const StatePart& part = found->parts[p];
    if (part.count < parts[p]) {
      throw fail(fmt::format("part {} of array '{}' has {} elements, expected {}", p, name,
                             part.count, parts[p]));
    }
    if (part.data == nullptr && parts[p] > 0) {
      throw fail(fmt::format("part {} of array '{}' is a null pointer", p, name));
    }
    const std::size_t size = type == ElementType::float32    ? sizeof(float)
                             : type == ElementType::bfloat16 ? sizeof(std::uint16_t)
                                                             : sizeof(double);
    if (reinterpret_cast<std::uintptr_t>(part.data) % size != 0) {
      throw fail(fmt::format("part {} of array '{}' is not aligned to its elements", p, name));
    }
  }
  return found->parts;
}

std::uint64_t* CallersMemory::scalars(std::size_t count) const {
  const std::span<const StatePart> found = find(kScalars, ElementType::uint64, {&count, 1});
  return static_cast<std::uint64_t*>(found[0].data);
}

void ImportScalars::count(const char* name, std::uint64_t& value, std::uint64_t most) {
  value = scalars_[at_++];
  if (value <= most) return;
  throw std::invalid_argument(fmt::format("{}: Invalid state: '{}' is {}, expected at most {}",
                                          memory_.rule(), name, value, most));
}

void ImportScalars::number(const char*, double& value) {
  value = std::bit_cast<double>(scalars_[at_++]);
}

void ExportScalars::number(const char*, double& value) {
  scalars_[at_++] = std::bit_cast<std::uint64_t>(value);
}

}  // namespace tandem
