// SPDX-License-Identifier: MIT
// Rates that change with time: a value type that is evaluated at a clock, written and printed as
// text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

/// Where training stands: the step about to be made, from 1, and the epoch, from 0.
struct Clock {
  std::uint64_t step = 1;
  std::uint64_t epoch = 0;

  friend bool operator==(const Clock&, const Clock&) = default;
};

/// A rate as a function of the clock. Text and value:
///
///   0.1                       constant
///   0.1*0.95^epoch            multiplied by 0.95 after each epoch
///   0.1*0.95^(t/1000)         multiplied by 0.95 every 1000 steps, smoothly
///   5/(t+100)                 and 5/(t+100)^2: the rates of the paper's theorems
///   0.1*cosine(t/1000)        half a cosine from 0.1 at t = 1 to 0 at t = 1001, then 0; epoch/20
///   counts epochs;
///                             cosine(t/1000, 0.01) ends at 0.01 of the rate instead of 0
///   warmup(100)*...           any of these times min(1, t/100)
///
/// Factors above 1 let a rate grow, at most tenfold per step or per epoch.
class Schedule {
 public:
  /// A constant. The only implicit conversion: a second one would make `.alpha = 0` ambiguous.
  Schedule(double constant) : rate_(constant) {}  // NOLINT(google-explicit-constructor)

  static Schedule exponential_epochs(double rate, double factor);
  static Schedule exponential_steps(double rate, double factor, double steps);
  /// rate / (t + offset)^power, power 1 or 2.
  static Schedule inverse(double rate, double offset, int power = 1);
  static Schedule cosine_steps(double rate, double steps, double final_fraction = 0);
  static Schedule cosine_epochs(double rate, double epochs, double final_fraction = 0);
  Schedule with_warmup(double steps) const;

  /// Reads the text form; throws std::invalid_argument that names the place and what was expected.
  static Schedule parse(std::string_view text);
  /// The text form; parse(to_string()) is the same schedule, to the bit.
  std::string to_string() const;

  double at(const Clock& clock) const;

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  enum class Kind {
    constant,
    exponential_epochs,
    exponential_steps,
    inverse,
    cosine_steps,
    cosine_epochs
  };

  Kind kind_ = Kind::constant;
  double rate_;
  double factor_ = 1;  // exponential: the factor; cosine: the final fraction
  double span_ = 1;    // steps or epochs; inverse: the offset
  int power_ = 1;      // inverse
  double warmup_ = 0;  // steps; 0 is none
};

}  // namespace tandem
