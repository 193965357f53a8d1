// SPDX-License-Identifier: MIT
// Arrays of a rule's state: in memory of their own, or in the caller's.
#pragma once

#include <tandem/optimizer.h>
#include <tandem/state.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "kernels/narrow.h"
#include "optimizers/layout.h"
#include "optimizers/recipe.h"

namespace tandem {

/// Whose memory an engine's state is in.
enum class StateOwner { engine, caller };

template <class T>
constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, BFloat16>) return ElementType::bfloat16;
  return std::is_same_v<T, float> ? ElementType::float32 : ElementType::float64;
}

/// An array in parts: one for each segment, one in all, or, where it grows, ever more. In memory of
/// its own it starts as zeros; in the caller's it has no memory before bind().
template <class T>
class StateArray {
 public:
  StateArray() = default;
  /// A part for each segment.
  StateArray(const Layout& layout, StateOwner owner) : owner_(owner), like_weights_(true) {
    sizes_.reserve(layout.segments());
    for (std::size_t s = 0; s < layout.segments(); ++s) sizes_.push_back(layout.size(s));
    data_.resize(sizes_.size());
    if (owner_ == StateOwner::caller) return;
    own_.emplace_back(layout.dimension());  // one piece: neighbours in memory as in the list
    for (std::size_t s = 0; s < sizes_.size(); ++s) data_[s] = own_[0].data() + layout.offset(s);
  }
  /// One part.
  StateArray(std::size_t count, StateOwner owner) : owner_(owner) { add_part(count); }
  /// No part yet.
  explicit StateArray(StateOwner owner) : owner_(owner) {}

  /// One more part; the caller's memory for it comes with the next bind().
  void add_part(std::size_t count) {
    sizes_.reserve(sizes_.size() + 1);
    data_.reserve(sizes_.size() + 1);
    if (owner_ == StateOwner::engine) {
      own_.emplace_back(count);
      data_.push_back(own_.back().data());
    } else {
      data_.push_back(nullptr);
    }
    sizes_.push_back(count);
  }

  /// So many parts, of the caller's memory.
  void set_parts(std::vector<std::size_t> sizes) {
    sizes_ = std::move(sizes);
    data_.assign(sizes_.size(), nullptr);
  }

  /// Takes the caller's memory, a pointer for each part.
  void bind(std::span<const StatePart> parts) {
    for (std::size_t p = 0; p < data_.size(); ++p) data_[p] = static_cast<T*>(parts[p].data);
  }

  bool like_weights() const { return like_weights_; }
  bool empty() const { return sizes_.empty(); }
  std::size_t parts() const { return sizes_.size(); }
  std::size_t size(std::size_t part) const { return sizes_[part]; }
  const std::vector<std::size_t>& sizes() const { return sizes_; }
  std::size_t size() const { return std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0}); }
  std::size_t bytes() const { return size() * sizeof(T); }

  T* part(std::size_t p) { return data_[p]; }
  const T* part(std::size_t p) const { return data_[p]; }
  std::span<T> span(std::size_t p) { return {data_[p], sizes_[p]}; }
  std::span<const T> span(std::size_t p) const { return {data_[p], sizes_[p]}; }
  /// The first part: of arrays that have one.
  T* data() { return data_[0]; }
  const T* data() const { return data_[0]; }
  std::span<T> span() { return span(0); }
  std::span<const T> span() const { return span(0); }

  StateOwner owner() const { return owner_; }
  void fill(double value) {
    for (std::size_t p = 0; p < parts(); ++p) std::fill_n(data_[p], sizes_[p], as_element(value));
  }
  /// As many values as it has elements, or none: then all are 0. Memory of its own is 0 already, and
  /// not touched before it is used.
  void start_from(std::span<const double> values) {
    if (values.empty() && owner_ == StateOwner::engine) return;
    std::size_t at = 0;
    for (std::size_t p = 0; p < parts(); ++p) {
      for (T& element : span(p)) element = as_element(values.empty() ? 0 : values[at++]);
    }
  }

 private:
  static T as_element(double value) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      const auto wide = static_cast<float>(value);
      BFloat16 element;
      kernels::narrow(&wide, 1, &element);
      return element;
    } else {
      return static_cast<T>(value);
    }
  }

  StateOwner owner_ = StateOwner::engine;
  bool like_weights_ = false;
  std::vector<std::size_t> sizes_;
  std::vector<T*> data_;
  std::vector<Buffer<T>> own_;
};

/// Is shown everything that a rule remembers, in the order of state files.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// A count of at most `most`.
  virtual void count(const char* name, std::uint64_t& value,
                     std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) = 0;
  virtual void number(const char* name, double& value) = 0;
  virtual void array(const char* name, StateArray<float>& array) = 0;
  virtual void array(const char* name, StateArray<double>& array) = 0;
  virtual void array(const char* name, StateArray<BFloat16>& array) = 0;

  /// The same for what is kept as a bool or an enum.
  template <class Small>
  void small(const char* name, Small& value, std::uint64_t most) {
    auto wide = static_cast<std::uint64_t>(value);
    count(name, wide, most);
    value = static_cast<Small>(wide);
  }
};

/// An array in the type of the weights or in bfloat16.
template <class T>
class ElementState {
 public:
  ElementState() = default;
  /// An element for each weight.
  ElementState(const Layout& layout, StateOwner owner, const detail::StateStorage& storage)
      : narrow_(storage.narrow()) {
    if (narrow_) {
      half_ = StateArray<BFloat16>(layout, owner);
    } else {
      full_ = StateArray<T>(layout, owner);
    }
  }
  /// One part.
  ElementState(std::size_t count, StateOwner owner, const detail::StateStorage& storage)
      : narrow_(storage.narrow()) {
    if (narrow_) {
      half_ = StateArray<BFloat16>(count, owner);
    } else {
      full_ = StateArray<T>(count, owner);
    }
  }

  bool empty() const { return full_.empty() && half_.empty(); }
  std::size_t bytes() const { return narrow_ ? half_.bytes() : full_.bytes(); }
  bool narrow() const { return narrow_; }
  /// Of a segment; null where it is kept in the other type.
  T* part(std::size_t segment) { return narrow_ || empty() ? nullptr : full_.part(segment); }
  BFloat16* half_part(std::size_t segment) { return narrow_ ? half_.part(segment) : nullptr; }
  void visit(const char* name, StateVisitor& visitor) {
    if (narrow_) {
      visitor.array(name, half_);
    } else {
      visitor.array(name, full_);
    }
  }
  void start_from(std::span<const double> values) {
    narrow_ ? half_.start_from(values) : full_.start_from(values);
  }
  void fill(double value) { narrow_ ? half_.fill(value) : full_.fill(value); }

 private:
  bool narrow_ = false;
  StateArray<T> full_;
  StateArray<BFloat16> half_;
};

inline void visit_diagnostics(StateVisitor& visitor, Diagnostics& last) {
  visitor.number("residual_norm", last.residual_norm);
  visitor.number("gradient_norm", last.gradient_norm);
  visitor.number("delta", last.delta);
}

}  // namespace tandem
