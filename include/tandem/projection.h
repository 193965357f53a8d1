// SPDX-License-Identifier: MIT
// The feasible set that weights are put back into after each update: all of space, an l2 ball about
// 0, or a box.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// Text forms: `none`, `ball(10)`, `box(-1, 1)`. The ball is about 0 and over all segments
/// together.
class Projection {
 public:
  enum class Kind { none, ball, box };

  Projection() = default;
  static Projection none() { return {}; }
  static Projection ball(double radius);
  static Projection box(double low, double high);

  /// Reads the text form; throws std::invalid_argument.
  static Projection parse(std::string_view text);
  std::string to_string() const;

  Kind kind() const { return kind_; }
  double radius() const { return high_; }  // of a ball
  double low() const { return low_; }      // of a box
  double high() const { return high_; }    // of a box

  friend bool operator==(const Projection&, const Projection&) = default;

 private:
  Kind kind_ = Kind::none;
  double low_ = 0;
  double high_ = 0;
};

}  // namespace tandem
