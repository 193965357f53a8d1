// SPDX-License-Identifier: MIT
// Gradients that stay zero in half of the weights, until the state that remembers them has decayed
// below the smallest normal number: the values are right up to that number, no bit depends on
// threads, segments or on what the caller's processor is set to, and that is as it was afterwards.
#include <gtest/gtest.h>
#include <tandem/errors.h>
#include <tandem/tandem.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/float_environment.h"
#include "tests/battery.h"
#include "tests/executors.h"

namespace tandem::testing {
namespace {

constexpr int kFreeze = 3;  // the last step in which all weights have a gradient

/// A problem whose every second weight gets `last` times its gradient in the first steps, and none
/// from then on.
class Frozen : public problems::Objective {
 public:
  Frozen(const problems::Objective& problem, double last) : problem_(problem), last_(last) {}
  std::size_t dimension() const override { return problem_.dimension(); }
  std::vector<double> start() const override { return problem_.start(); }
  double loss(std::span<const double> w) const override { return problem_.loss(w); }
  void gradient(std::span<const double> w, std::span<double> g) const override {
    problem_.gradient(w, g);
  }
  void stochastic_gradient(std::span<const double> w, std::uint64_t step,
                           std::span<double> g) const override {
    problem_.stochastic_gradient(w, step, g);
    for (std::size_t i = 1; i < g.size(); i += 2) g[i] *= step <= kFreeze ? last_ : 0;
  }
  const std::vector<double>& optimum() const override { return problem_.optimum(); }

 private:
  const problems::Objective& problem_;
  double last_;
};

class Denormals : public Battery {
 protected:
  void TearDown() override { std::fesetenv(FE_DFL_ENV); }
};

// Some 830 steps after the last gradient an average with 0.9 is below 1.2e-38.
TEST_P(Denormals, the_weights_are_those_of_the_reference) {
  const std::size_t d = 67;
  const problems::Quadratic bowl = bowl_for(it(), d, 41);
  const Frozen problem(bowl, 1);
  for (const OptionSet& set : it().sets) {
    SCOPED_TRACE(set.label);
    // A sign is zero in float when the average is, and not yet in double; records know what a
    // cosine is up to its end only.
    const auto lr = set.options.find("lr");
    const bool cosine = lr != set.options.end() && lr->second.find("cosine") != std::string::npos;
    const int steps = it().name == "lion" || cosine ? 300 : 1000;
    const Layout layout = one_part(d);
    const auto optimizer = make(it(), set, d);
    const Course course = course_of<float>(*optimizer, problem, layout, steps, problem.start());
    const Course expected = reference_course(set, problem, layout, steps, problem.start());
    EXPECT_LE(difference(course, expected), 2 * it().float_tolerance);
  }
}

/// What a run leaves behind.
struct Left {
  std::vector<float> weights;
  std::string state;
};

Left left_by(const Record& record, const OptionSet& set, const Layout& layout, int steps,
             std::shared_ptr<Executor> executor) {
  const problems::Quadratic bowl = bowl_for(record, layout.dimension(), 43);
  const Frozen problem(bowl, 5e-38);  // a few steps only until they are denormal
  const auto optimizer = make(record, set, layout.specs());
  optimizer->set_executor(std::move(executor));
  Model<float> model(layout, problem.start());
  advance(*optimizer, model, problem, 1, steps);
  return {model.weights(), saved(*optimizer)};
}

TEST_P(Denormals, threads_do_not_change_a_bit) {
  const bool full = it().name == "full-to";
  const Layout layout = many_parts(full ? 2000 : 140001, 1);
  for (std::size_t k = 0; k < 2; ++k) {
    const OptionSet& set = it().sets[k];
    SCOPED_TRACE(set.label);
    const Left expected = left_by(it(), set, layout, 10, serial_executor());
    for (const std::shared_ptr<Executor>& executor :
         {pool_executor(3), std::shared_ptr<Executor>(std::make_shared<ThreadsExecutor>(3)),
          std::shared_ptr<Executor>(std::make_shared<BackwardsExecutor>(5))}) {
      const Left left = left_by(it(), set, layout, 10, executor);
      EXPECT_TRUE(same_bits(left.weights, expected.weights));
      EXPECT_TRUE(left.state == expected.state);
    }
  }
}

// Sums of RO-TO, Full-TO and Block-TO depend on where blocks begin; those of the others are
// diagnostics.
TEST_P(Denormals, segments_do_not_change_a_bit_of_elementwise_rules) {
  if (it().name == "full-to" || it().name == "ro-to" || it().name == "block-to") return;
  const std::size_t d = 4201;
  for (const OptionSet& set : it().sets) {
    if (set.options.contains("projection")) continue;  // a ball's radius is a sum
    SCOPED_TRACE(set.label);
    const Left one = left_by(it(), set, one_part(d), 20, serial_executor());
    const Left many = left_by(it(), set, many_parts(d, 1), 20, serial_executor());
    EXPECT_TRUE(same_bits(one.weights, many.weights));
  }
}

/// Steps whose gradients were made beforehand, so that nothing but the steps runs in the
/// environment under test.
template <class T>
class Steps {
 public:
  Steps(const Record& record, std::shared_ptr<Executor> executor, std::size_t dimension)
      : optimizer_(make(record, record.sets[1], dimension)),
        bowl_(bowl_for(record, dimension, 47)),
        model_(one_part(dimension), bowl_.start()) {
    model_.differentiate(Frozen(bowl_, 5e-38), 1);
    optimizer_->set_executor(std::move(executor));
  }
  /// The gradient of every second weight is zero from the second step on.
  void step(int count) {
    for (int i = 0; i < count; ++i) {
      model_.apply(*optimizer_);
      const std::span<T> gradient = this->gradient();
      for (std::size_t k = 1; k < gradient.size(); k += 2) gradient[k] = 0;
    }
  }
  std::span<T> gradient() {
    const auto size = model_.segments()[0].gradient.size();
    return {&model_.gradient(0, 0), size};
  }
  Left left() const {
    const std::vector<T> w = model_.weights();
    return {std::vector<float>(w.begin(), w.end()), saved(*optimizer_)};
  }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  problems::Quadratic bowl_;
  Model<T> model_;
};

template <class T>
void expect_no_trace(const Record& record, std::size_t dimension) {
  const auto executor = std::make_shared<ThreadsExecutor>(2);
  Steps<T> plain(record, executor, dimension);
  plain.step(10);
  const Left expected = plain.left();
  for (const int rounding : {FE_UPWARD, FE_TOWARDZERO}) {
    Steps<T> other(record, executor, dimension);
    std::fesetround(rounding);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_OVERFLOW);
    const FloatEnvironment before = float_environment();
    other.step(10);
    EXPECT_EQ(float_environment(), before);
    EXPECT_EQ(std::fegetround(), rounding);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_OVERFLOW);
    std::fesetenv(FE_DFL_ENV);
    const Left left = other.left();
    EXPECT_TRUE(same_bits(left.weights, expected.weights)) << "rounding " << rounding;
    EXPECT_TRUE(left.state == expected.state) << "rounding " << rounding;
  }
}

TEST_P(Denormals, the_callers_environment_neither_matters_nor_changes) {
#if !defined(__x86_64__) && !defined(__aarch64__)
  GTEST_SKIP() << "this processor's environment is left alone";
#endif
  expect_no_trace<float>(it(), 37);
  expect_no_trace<double>(it(), 37);
  expect_no_trace<float>(it(), it().name == "full-to" ? 700 : 140001);
}

TEST_P(Denormals, a_step_that_throws_restores_the_environment) {
  for (const std::size_t d :
       {std::size_t{37}, std::size_t{it().name == "full-to" ? 700U : 140001U}}) {
    Steps<float> steps(it(), std::make_shared<ThreadsExecutor>(2), d);
    steps.step(5);
    steps.gradient()[d / 2] = std::numeric_limits<float>::quiet_NaN();
    std::fesetround(FE_DOWNWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    const FloatEnvironment before = float_environment();
    EXPECT_THROW(steps.step(1), NonFiniteGradient);
    EXPECT_EQ(float_environment(), before);
    std::fesetenv(FE_DFL_ENV);
  }
}

// They may be shared with everybody in the process.
TEST_P(Denormals, worker_threads_are_left_as_they_were) {
  // A new thread has new workers, which the first step starts.
  std::thread([this] {
    const auto executor = pool_executor(3);
    Steps<float> steps(it(), executor, it().name == "full-to" ? 700 : 140001);
    steps.step(3);
    const FloatEnvironment here = float_environment();
    std::vector<FloatEnvironment> seen(3);
    executor->run(3, [&](std::size_t i) { seen[i] = float_environment(); });
    for (const FloatEnvironment& there : seen) EXPECT_EQ(there.control, here.control);
  }).join();
}

INSTANTIATE_TEST_SUITE_P(records, Denormals, ::testing::ValuesIn(record_names()), name_of);

// ---- values of the state --------------------------------------------------------------------------

/// G of an average with factor `keep` after one gradient, step by step down to zero: each is its
/// value in double, to float's precision and the smallest normal number.
TEST(DecayedState, is_right_to_the_smallest_normal_number_and_zero_below) {
  constexpr float kLeast = std::numeric_limits<float>::min();
  const std::vector<float> first = {1.0F, -0.25F, 3e-30F, -1.5e-38F, 1e-39F};
  Momentum optimizer(first.size(), {.lr = 1e-3, .momentum = 0.9});
  optimizer.keep_estimate();
  std::vector<float> weights(first.size(), 1.0F), gradient = first;
  for (int t = 0; t < 1200; ++t) {
    optimizer.step(weights, gradient);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    const std::vector<double> estimate = optimizer.last_estimate();
    for (std::size_t i = 0; i < first.size(); ++i) {
      const double exact = 0.1 * std::pow(0.9, t) * static_cast<double>(first[i]);
      ASSERT_NEAR(estimate[i], exact, 1e-4 * std::abs(exact) + static_cast<double>(kLeast))
          << "weight " << i << ", step " << t + 1;
      ASSERT_FALSE(estimate[i] != 0 && std::abs(estimate[i]) < static_cast<double>(kLeast))
          << "weight " << i << ", step " << t + 1;
    }
  }
  EXPECT_EQ(optimizer.last_estimate(), std::vector<double>(first.size(), 0.0));
}

TEST(DecayedState, weights_and_gradients_below_it_count_as_zero) {
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min() * 1000;
  SGD optimizer(4, {.lr = 0.5});
  std::vector<float> weights = {kDenormal, -kDenormal, 1.0F, 0.0F};
  optimizer.step(weights, std::vector<float>{0.0F, 0.0F, kDenormal, kDenormal});
  EXPECT_EQ(weights, (std::vector<float>{0.0F, 0.0F, 1.0F, 0.0F}));
}

}  // namespace
}  // namespace tandem::testing
