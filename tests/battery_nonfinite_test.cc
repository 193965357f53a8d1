// SPDX-License-Identifier: MIT
// NaN and infinite gradients: reported with their place or skipped and counted, and in both cases
// weights and state stay as they were, to the bit.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/battery.h"

namespace tandem::testing {
namespace {

/// Where a bad value is put: part and index within it.
struct Place {
  std::size_t part;
  std::size_t index;
};

std::vector<Place> places(const Layout& layout) {
  const std::size_t last = layout.parts.size() - 1, middle = last / 2;
  return {{0, 0},
          {middle, layout.parts[middle].size / 2},
          {last, 0},
          {last, layout.parts[last].size / 2},
          {last, layout.parts[last].size - 1}};
}

template <class T>
std::vector<T> bad_values() {
  return {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::quiet_NaN(),
          std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

class NonFinite : public Battery {
 protected:
  template <class T>
  void raises(const OptionSet& set, const Layout& layout, int steps) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float " : " double ") +
                 std::to_string(layout.dimension()) + " after " + std::to_string(steps));
    const problems::Quadratic problem = bowl_for(it(), layout.dimension());
    const auto optimizer = make(it(), set, layout.specs());
    const auto twin = make(it(), set, layout.specs());
    Model<T> model(layout, problem.start()), other(layout, problem.start());
    advance(*optimizer, model, problem, 1, steps);
    advance(*twin, other, problem, 1, steps);
    const std::string before = saved(*optimizer);
    const Diagnostics last = optimizer->last();
    for (const T value : bad_values<T>())
      for (const Place& place : places(layout)) {
        model.differentiate(problem, static_cast<std::uint64_t>(steps) + 1);
        model.gradient(place.part, place.index) = value;
        // A second one behind it: the first counts.
        model.gradient(layout.parts.size() - 1, layout.parts.back().size - 1) = value;
        try {
          model.apply(*optimizer);
          FAIL() << value << " was not noticed at " << place.part << ", " << place.index;
        } catch (const NonFiniteGradient& error) {
          EXPECT_EQ(error.segment(), place.part);
          EXPECT_EQ(error.index(), place.index);
          const std::string message = error.what();
          EXPECT_NE(message.find(std::to_string(place.index)), std::string::npos) << message;
        }
        ASSERT_TRUE(same_bits(model.weights(), other.weights()));
        ASSERT_TRUE(saved(*optimizer) == before);
      }
    EXPECT_TRUE(same(optimizer->last().residual_norm, last.residual_norm));
    EXPECT_TRUE(same(optimizer->last().delta, last.delta));
    EXPECT_EQ(optimizer->skipped_steps(), 0u);
    advance(*optimizer, model, problem, steps + 1, steps + 30);
    advance(*twin, other, problem, steps + 1, steps + 30);
    EXPECT_TRUE(same_bits(model.weights(), other.weights()));
  }

  template <class T>
  void skips(const OptionSet& set, const Layout& layout) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float" : " double"));
    const problems::Quadratic problem = bowl_for(it(), layout.dimension());
    OptionSet skipping = set;
    skipping.options["on_nonfinite"] = "skip";
    const auto optimizer = make(it(), skipping, layout.specs());
    const auto twin = make(it(), set, layout.specs());
    Model<T> model(layout, problem.start()), other(layout, problem.start());
    std::uint64_t skipped = 0;
    for (int step = 1; step <= 40; ++step) {
      if (step == 1 || step == 7 || step == 33)
        for (const T value : bad_values<T>()) {
          model.differentiate(problem, static_cast<std::uint64_t>(step));
          model.gradient(layout.parts.size() - 1, 0) = value;
          model.apply(*optimizer);
          EXPECT_EQ(optimizer->skipped_steps(), ++skipped);
          EXPECT_EQ(optimizer->clock(), twin->clock());
          ASSERT_TRUE(same_bits(model.weights(), other.weights()));
        }
      advance(*optimizer, model, problem, step, step);
      advance(*twin, other, problem, step, step);
      ASSERT_TRUE(same_bits(model.weights(), other.weights())) << step;
    }
    EXPECT_EQ(optimizer->skipped_steps(), 12u);
  }
};

TEST_P(NonFinite, is_raised_and_changes_nothing) {
  for (const OptionSet& set : it().sets)
    for (const int steps : {0, 3}) {
      raises<float>(set, one_part(1), steps);
      raises<float>(set, one_part(101, 1), steps);
      raises<double>(set, one_part(101), steps);
      raises<float>(set, many_parts(101, 1), steps);
      raises<double>(set, many_parts(101, 1), steps);
    }
}

// Where several threads look at the gradient.
TEST_P(NonFinite, is_raised_in_large_models) {
  if (it().name == "full-to") GTEST_SKIP() << "its reference cannot be this large";
  const std::size_t d = 300001;
  const auto optimizer = make(it(), it().sets[0], d);
  std::vector<float> w(d, 0.001f), g(d, 0.5f);
  optimizer->step(w, g);
  const std::vector<float> before = w;
  for (const std::size_t index : {std::size_t{0}, d / 3, d / 2, d - 1}) {
    std::vector<float> bad = g;
    bad[index] = std::numeric_limits<float>::infinity();
    bad[d - 1] = std::numeric_limits<float>::quiet_NaN();
    try {
      optimizer->step(w, bad);
      FAIL() << "not noticed at " << index;
    } catch (const NonFiniteGradient& error) {
      EXPECT_EQ(error.segment(), 0u);
      EXPECT_EQ(error.index(), index);
    }
    EXPECT_TRUE(same_bits(w, before));
  }
}

TEST_P(NonFinite, is_skipped_and_counted) {
  for (const OptionSet& set : it().sets) {
    if (set.make) continue;  // made without the option
    skips<float>(set, many_parts(101, 1));
    skips<double>(set, one_part(101));
  }
}

TEST_P(NonFinite, is_not_looked_for_when_ignored) {
  OptionSet set = it().sets[0];
  set.options["on_nonfinite"] = "ignore";
  const auto optimizer = make(it(), set, 9);
  std::vector<float> w(9, 1), g(9, std::numeric_limits<float>::quiet_NaN());
  EXPECT_NO_THROW(optimizer->step(w, g));
  EXPECT_EQ(optimizer->skipped_steps(), 0u);
}

// Sums of squares overflow where no gradient is infinite: that is no reason to complain.
TEST_P(NonFinite, does_not_mean_large) {
  const auto optimizer = make(it(), it().sets[0], 3);
  std::vector<float> w(3, 1), g(3, 3e38f);
  EXPECT_NO_THROW(optimizer->step(w, g));
}

INSTANTIATE_TEST_SUITE_P(records, NonFinite, ::testing::ValuesIn(record_names()), name_of);

}  // namespace
}  // namespace tandem::testing
