// SPDX-License-Identifier: MIT
// State that the caller owns: which arrays a rule needs for its next step, and memory for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Of the elements of an array; the values are those of <tandem/c.h>.
enum class ElementType : std::int32_t { float32 = 0, float64 = 1, bfloat16 = 2, uint64 = 3 };

/// An array as a rule's next step needs it.
struct StateNeed {
  std::string name;
  ElementType type = ElementType::float32;
  /// Whether it has a part for each segment, of the segment's size. Otherwise it has one part, or,
  /// where it grows, one part more from time to time; parts never change their size.
  bool like_weights = false;
  std::vector<std::size_t> parts = {};  ///< elements of each part
  /// Of "scalars", elements of 8 bytes: the name of each, and whether it is a double (or a count).
  struct Scalar {
    std::string name;
    bool is_double = false;
  };
  std::vector<Scalar> scalars = {};
};

/// Memory for one part of an array; `count` elements, at least as many as needed.
struct StatePart {
  void* data = nullptr;
  std::size_t count = 0;
};

/// Memory for an array. What it points to must stay until the call that it is given to returns; the
/// memory of the parts for as long as steps are made on it.
struct StateMemory {
  std::string_view name;
  ElementType type = ElementType::float32;
  std::span<const StatePart> parts;
};

/// What a step must know of all weights before it moves any: sums that may be added up, element by
/// element, over the machines that hold parts of one model.
struct GatheredSums {
  double nonfinite = 0;  ///< gradients that hold NaN or infinity: 0 or 1 a machine
  // RO-TO, of the weights that are stepped: (g + l2 w).a, c.w, |w|^2, |a|^2, a.b
  double ga = 0;
  double cw = 0;
  double ww = 0;
  double aa = 0;
  double ab = 0;
  double all_ww = 0;  ///< |w|^2 of all weights, while RO-TO has no c yet
};

}  // namespace tandem
