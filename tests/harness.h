// SPDX-License-Identifier: MIT
// Runs of an optimizer and of its reference on the same problem, and ways to compare them. The
// gradient is a function of the weights, so an error in a step comes back in all later ones.
#pragma once

#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeinfo>
#include <vector>

#include "problems/quadratic.h"
#include "tests/records.h"
#include "tests/reference.h"

namespace tandem::testing {

inline constexpr int steps_per_epoch = 20;

/// A segment as a test lays it out; its rate, if it has one, is rate * factor^epoch.
struct Part {
  std::size_t size;
  std::optional<double> rate = std::nullopt;
  double factor = 1;
  std::optional<double> weight_decay = std::nullopt;
};

/// How weights lie in memory: every part in a buffer of its own, `offset` elements into it.
struct Layout {
  std::vector<Part> parts;
  std::size_t offset = 0;

  std::size_t dimension() const;
  std::vector<SegmentSpec> specs() const;
};

Layout one_part(std::size_t dimension, std::size_t offset = 0);
/// Parts of 1, 3, 1, ... elements and odd rests, as far as they fit.
Layout many_parts(std::size_t dimension, std::size_t offset = 0);
/// Gives some of the parts rates of about `rate` and decays of their own.
Layout with_own_rates(Layout layout, double rate);

/// A model's weights of type T and the gradient for them.
template <class T>
class Model {
 public:
  Model(const Layout& layout, std::span<const double> weights);

  /// The stochastic gradient of `step` here, without stepping.
  void differentiate(const problems::Objective& problem, std::uint64_t step);
  /// Steps with the gradient that is there.
  void apply(Optimizer& optimizer);
  void step(Optimizer& optimizer, const problems::Objective& problem, std::uint64_t step);

  std::vector<T> weights() const;
  std::vector<double> weights_as_double() const;
  void set_weights(std::span<const T> weights);
  /// Element `index` of part `part`.
  T& weight(std::size_t part, std::size_t index);
  T& gradient(std::size_t part, std::size_t index);
  std::vector<Segment<T>> segments();

 private:
  Layout layout_;
  std::vector<std::vector<T>> weights_, gradients_;
};

/// Makes steps first .. last (from 1) and ends epochs when they are due.
template <class T>
void advance(Optimizer& optimizer, Model<T>& model, const problems::Objective& problem, int first,
             int last);

/// Weights and diagnostics at every 50th step and at the last.
struct Course {
  std::vector<std::vector<double>> weights = {};
  std::vector<reference::Seen> seen = {};
};

template <class T>
Course course_of(Optimizer& optimizer, const problems::Objective& problem, const Layout& layout,
                 int steps, std::span<const double> start);
Course reference_course(const OptionSet& set, const problems::Objective& problem,
                        const Layout& layout, int steps, std::span<const double> start);

/// The reference's rates of a step: the set's, and the parts' own where they have them.
reference::Rates rates_of(const OptionSet& set, const Layout& layout, int step);
/// The set's reference with the parts' own decays.
reference::RulePointer reference_of(const OptionSet& set, const Layout& layout);

/// Largest |x_i - y_i| over the largest |y_i|.
double difference(std::span<const double> x, std::span<const double> y);
/// The same over whole courses: the largest distance over the largest weight.
double difference(const Course& course, const Course& reference);
/// The same of the diagnostics, each relative to its own size (norms to |g|).
double diagnostics_difference(const Course& course, const Course& reference);

/// The noisy bowl on which a record is run.
problems::Quadratic bowl_for(const Record& record, std::size_t dimension, std::uint64_t seed = 7);

std::string saved(const Optimizer& optimizer);
void load(Optimizer& optimizer, const std::string& bytes);

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// What `action` throws must be an E whose message holds all fragments.
template <class E, class Action>
::testing::AssertionResult throws_saying(Action action, const std::vector<std::string>& fragments) {
  try {
    action();
  } catch (const E& error) {
    const std::string message = error.what();
    for (const std::string& fragment : fragments)
      if (message.find(fragment) == std::string::npos)
        return ::testing::AssertionFailure()
               << "the message does not hold \"" << fragment << "\": " << message;
    return ::testing::AssertionSuccess();
  } catch (const std::exception& error) {
    return ::testing::AssertionFailure() << "expected " << typeid(E).name() << ", got "
                                         << typeid(error).name() << ": " << error.what();
  }
  return ::testing::AssertionFailure() << "expected " << typeid(E).name() << ", nothing was thrown";
}

}  // namespace tandem::testing
