// SPDX-License-Identifier: MIT
// A host that owns an optimizer's state, for tests: named arrays in memory of its own, which it moves,
// copies and hands from one optimizer to the next.
#pragma once

#include <tandem/tandem.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tandem::testing {

class HostMemory {
 public:
  explicit HostMemory(ElementType weights) : weights_(weights) {}

  /// Whether there is a state yet.
  bool started() const { return started_; }

  /// Has what the optimizer's next step needs, keeps what was there, and binds it.
  void bind(Optimizer& optimizer) {
    std::vector<std::vector<StatePart>> parts;
    for (const StateNeed& need : optimizer.state_needs(weights_, memory(parts))) {
      Array& array = arrays_[need.name];
      array.type = need.type;
      for (std::size_t p = array.parts.size(); p < need.parts.size(); ++p) {
        array.parts.push_back(filled(need.parts[p] * size_of(need.type)));
        array.counts.push_back(need.parts[p]);
      }
    }
    use(optimizer, !started_);
    started_ = true;
  }

  /// All arrays at other addresses; the old memory is overwritten first.
  void move() {
    std::map<std::string, Array> moved = arrays_;
    for (auto& [name, array] : arrays_) {
      for (auto& part : array.parts) std::memset(part.data(), 0xA5, part.size());
    }
    arrays_ = std::move(moved);
  }

  struct Array {
    ElementType type = ElementType::float32;
    std::vector<std::vector<std::byte>> parts;
    std::vector<std::size_t> counts;
  };
  std::map<std::string, Array>& arrays() { return arrays_; }

  /// All bytes, for comparison.
  std::string bytes() const {
    std::string all;
    for (const auto& [name, array] : arrays_) {
      for (const auto& part : array.parts) {
        all += name;
        all.append(reinterpret_cast<const char*>(part.data()), part.size());
      }
    }
    return all;
  }

  /// As it is, for tests that spoil it.
  void use(Optimizer& optimizer, bool start) {
    std::vector<std::vector<StatePart>> parts;
    optimizer.use_memory(weights_, memory(parts), start);
  }
  std::vector<StateMemory> memory(std::vector<std::vector<StatePart>>& parts) {
    parts.reserve(arrays_.size());
    std::vector<StateMemory> all;
    for (auto& [name, array] : arrays_) {
      std::vector<StatePart>& of = parts.emplace_back();
      for (std::size_t p = 0; p < array.parts.size(); ++p) {
        of.push_back({array.parts[p].data(), array.counts[p]});
      }
      all.push_back({name, array.type, of});
    }
    return all;
  }

 private:
  static std::size_t size_of(ElementType type) {
    return type == ElementType::float32 ? 4 : type == ElementType::bfloat16 ? 2 : 8;
  }
  /// Not zeros: what a rule does not fill is seen.
  static std::vector<std::byte> filled(std::size_t bytes) {
    return std::vector<std::byte>(bytes, std::byte{0x7B});
  }

  ElementType weights_;
  std::map<std::string, Array> arrays_;
  bool started_ = false;
};

template <class T>
constexpr ElementType type_of() {
  if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  return ElementType::bfloat16;
}

}  // namespace tandem::testing
