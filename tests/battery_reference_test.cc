// SPDX-License-Identifier: MIT
// Every optimizer against its double-precision reference: hundreds of steps with rates that vary,
// odd sizes, unaligned spans, several segments with rates and decays of their own, weights that
// somebody else changes.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "tests/battery.h"

namespace tandem::testing {
namespace {

/// Diagnostics are norms of differences, with fewer good digits than weights.
constexpr double diagnostics_slack = 100;

class AgainstReference : public ::testing::TestWithParam<std::tuple<std::string, std::size_t>> {
 protected:
  const Record& it() const { return record(std::get<0>(GetParam())); }
  std::size_t dimension() const { return std::get<1>(GetParam()); }

  /// 300, or what the reference can afford.
  int steps() const {
    const double ratio = static_cast<double>(it().largest) / static_cast<double>(dimension());
    return std::clamp(static_cast<int>(300 * ratio * ratio), 8, 300);
  }
  /// All of them where that is cheap.
  std::vector<OptionSet> sets() const {
    std::vector<OptionSet> sets = it().sets;
    if (dimension() > 1000 || dimension() > it().largest) sets.resize(2);
    return sets;
  }

  template <class T>
  void check(const OptionSet& set, const Layout& layout, const Course& reference,
             std::span<const double> start, const problems::Objective& problem) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float" : " double"));
    const double tolerance = sizeof(T) == 4 ? it().float_tolerance : it().double_tolerance;
    const bool plain = layout.parts.size() == 1 && !layout.parts[0].rate;
    const auto optimizer =
        plain ? make(it(), set, layout.dimension()) : make(it(), set, layout.specs());
    const Course course = course_of<T>(*optimizer, problem, layout, steps(), start);
    EXPECT_LE(difference(course, reference), tolerance);
    if (it().trainable && set.check_diagnostics) {
      EXPECT_LE(diagnostics_difference(course, reference), diagnostics_slack * tolerance);
    }
  }
};

TEST_P(AgainstReference, one_span) {
  const problems::Quadratic problem = bowl_for(it(), dimension());
  const std::vector<double> start = problem.start();
  for (const OptionSet& set : sets()) {
    const Layout layout = one_part(dimension());
    const Course reference = reference_course(set, problem, layout, steps(), start);
    check<float>(set, layout, reference, start, problem);
    check<double>(set, layout, reference, start, problem);
    const Layout unaligned = one_part(dimension(), 1);
    check<float>(set, unaligned, reference, start, problem);
    if (dimension() <= 1000) check<double>(set, unaligned, reference, start, problem);
  }
}

TEST_P(AgainstReference, segments_with_rates_and_decays_of_their_own) {
  const problems::Quadratic problem = bowl_for(it(), dimension(), 11);
  const std::vector<double> start = problem.start();
  for (const OptionSet& set : sets()) {
    Layout layout = many_parts(dimension(), 1);
    if (set.any_segments) layout = with_own_rates(layout, set.rates(50, 0).lr);
    const Course reference = reference_course(set, problem, layout, steps(), start);
    check<float>(set, layout, reference, start, problem);
    check<double>(set, layout, reference, start, problem);
  }
}

class FromZero : public AgainstReference {};

// Among others RO-TO's c_0, which is w_1 / |w_1|^2 elsewhere.
TEST_P(FromZero, one_span) {
  const problems::Quadratic problem = bowl_for(it(), dimension(), 13);
  const std::vector<double> start(dimension());
  for (const OptionSet& set : sets()) {
    const Layout layout = one_part(dimension());
    const Course reference = reference_course(set, problem, layout, steps(), start);
    check<float>(set, layout, reference, start, problem);
    check<double>(set, layout, reference, start, problem);
  }
}

using Case = std::tuple<std::string, std::size_t>;

std::vector<Case> cases(const std::vector<std::size_t>& dimensions) {
  std::vector<Case> cases;
  for (const Record& one : records())
    for (const std::size_t d : dimensions)
      if (d < 10 * one.largest) cases.emplace_back(one.name, d);
  return cases;
}

std::string case_name(const ::testing::TestParamInfo<Case>& instance) {
  return test_name(std::get<0>(instance.param)) + "_" + std::to_string(std::get<1>(instance.param));
}

INSTANTIATE_TEST_SUITE_P(records, AgainstReference,
                         ::testing::ValuesIn(cases({1, 2, 3, 7, 64, 1000, 4099, 10007})),
                         case_name);
INSTANTIATE_TEST_SUITE_P(records, FromZero, ::testing::ValuesIn(cases({1, 2, 3, 7, 64})),
                         case_name);

// ---- Weights that somebody else changes --------------------------------------------------------

enum class Telling { tells, does_not_tell };

/// Changes made before some steps. Swapping two weights and changing a sign leave |w| as it was.
template <class T>
void interfere(int step, std::vector<T>& w) {
  const std::size_t last = w.size() - 1;
  if (step == 10) w[last] += T(0.25);
  if (step == 20) w[0] = -w[0];
  if (step == 30) std::swap(w[0], w[last]);
  if (step == 40)
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = T(0.5) * w[i] + T(0.0625);
  if (step == 41) std::fill(w.begin(), w.end(), T(0));
}

class Interference : public Battery {
 protected:
  template <class T>
  void run(const OptionSet& set, std::size_t dimension, Telling telling) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float " : " double ") + std::to_string(dimension));
    const problems::Quadratic problem = bowl_for(it(), dimension, 17);
    const Layout layout = one_part(dimension);
    const auto optimizer = make(it(), set, dimension);
    const auto rule = reference_of(set, layout);
    Model<T> model(layout, problem.start());
    std::vector<double> w = problem.start(), g(dimension);
    for (int step = 1; step <= 60; ++step) {
      std::vector<T> mine = model.weights();
      const std::vector<T> before = mine;
      interfere(step, mine);
      interfere(step, w);
      model.set_weights(mine);
      if (mine != before && telling == Telling::tells) optimizer->weights_changed();
      try {
        advance(*optimizer, model, problem, step, step);
      } catch (const std::exception& error) {
        // Full-TO held to its span form may refuse; it must say so and do nothing.
        EXPECT_FALSE(set.any_segments) << error.what();
        EXPECT_NE(std::string(error.what()).find("span"), std::string::npos) << error.what();
        EXPECT_TRUE(same_bits(mine, model.weights()));
        return;
      }
      problem.stochastic_gradient(w, static_cast<std::uint64_t>(step), g);
      rule->step(w, g, rates_of(set, layout, step));
      const double tolerance = sizeof(T) == 4 ? it().float_tolerance : it().double_tolerance;
      ASSERT_LE(difference(model.weights_as_double(), w), tolerance) << "step " << step;
    }
  }
};

TEST_P(Interference, is_found_out) {
  for (const OptionSet& set : it().sets)
    for (const std::size_t d : {2, 7, 130}) {
      run<float>(set, d, Telling::does_not_tell);
      run<double>(set, d, Telling::does_not_tell);
    }
}

TEST_P(Interference, is_told) {
  for (const OptionSet& set : it().sets)
    for (const std::size_t d : {7, 130}) {
      run<float>(set, d, Telling::tells);
      run<double>(set, d, Telling::tells);
    }
}

TEST_P(Interference, telling_without_a_change_does_no_harm) {
  const std::size_t d = 130;
  const problems::Quadratic problem = bowl_for(it(), d, 19);
  for (const OptionSet& set : it().sets) {
    if (!set.any_segments) continue;
    SCOPED_TRACE(set.label);
    const auto optimizer = make(it(), set, d);
    const auto twin = make(it(), set, d);
    Model<double> model(one_part(d), problem.start()), other(one_part(d), problem.start());
    for (int step = 1; step <= 40; ++step) {
      advance(*optimizer, model, problem, step, step);
      if (step % 7 == 0) optimizer->weights_changed();
    }
    advance(*twin, other, problem, 1, 40);
    EXPECT_LE(difference(model.weights(), other.weights()), it().double_tolerance);
  }
}

// A state that is loaded beside other weights than it was saved beside.
TEST_P(Interference, between_save_and_load) {
  const std::size_t d = 33;
  const problems::Quadratic problem = bowl_for(it(), d, 23);
  const Layout layout = one_part(d);
  for (const OptionSet& set : it().sets) {
    if (!set.any_segments) continue;
    SCOPED_TRACE(set.label);
    const auto rule = reference_of(set, layout);
    std::vector<double> w = problem.start(), g(d);
    Model<double> model(layout, problem.start());
    auto optimizer = make(it(), set, d);
    for (int step = 1; step <= 40; ++step) {
      if (step == 25) {
        const std::string state = saved(*optimizer);
        optimizer = make(it(), set, d);
        load(*optimizer, state);
        std::vector<double> mine = model.weights();
        interfere(40, mine);
        interfere(40, w);
        model.set_weights(mine);
      }
      advance(*optimizer, model, problem, step, step);
      problem.stochastic_gradient(w, static_cast<std::uint64_t>(step), g);
      rule->step(w, g, rates_of(set, layout, step));
    }
    EXPECT_LE(difference(model.weights(), w), it().double_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(records, Interference, ::testing::ValuesIn(record_names()), name_of);

}  // namespace
}  // namespace tandem::testing
