// SPDX-License-Identifier: MIT
// Full-TO with its matrix in bfloat16: how far it is from the double reference, what it has in common
// with float to the bit, and that bits depend on nothing but the run.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/executors.h"
#include "tests/harness.h"
#include "tests/host_memory.h"

namespace tandem::testing {
namespace {

using Invalid = std::invalid_argument;

FullTOOptions narrow(Form form = Form::dense) {
  return {.lr = Schedule::exponential_steps(0.1, 0.7, 1000),
          .alpha = Schedule::exponential_steps(0.3, 0.5, 1000),
          .beta = 0.3,
          .form = form,
          .state = StateType::bfloat16};
}

FullTOOptions in_float(FullTOOptions options) {
  options.state = StateType::full;
  return options;
}

problems::Quadratic bowl(std::size_t dimension) {
  return bowl_for(record("full-to"), dimension, 67);
}

const OptionSet& reference_set() {
  for (const OptionSet& set : record("full-to").sets) {
    if (set.label == "dense") return set;
  }
  throw std::logic_error("full-to has no set of options 'dense'");
}

/// The largest distance of the weights from the reference's over the largest weight, and the same of
/// the diagnostics.
struct Errors {
  double weights;
  double diagnostics;
};
Errors errors_of(std::size_t dimension, int steps, const OptionMap& options) {
  const OptionSet& set = reference_set();
  OptionMap all = set.options;
  for (const auto& [name, value] : options) all[name] = value;
  const problems::Quadratic problem = bowl(dimension);
  const Layout layout = one_part(dimension);
  const auto optimizer = make_optimizer("full-to", dimension, all);
  const Course course = course_of<float>(*optimizer, problem, layout, steps, problem.start());
  const Course expected = reference_course(set, problem, layout, steps, problem.start());
  return {difference(course, expected), diagnostics_difference(course, expected)};
}

// Measured: 1.3e-5 and 1.0e-5 stochastic, 1.6e-5 and 1.9e-5 to nearest, 5e-7 and 2e-7 in float, where
// a run without A is off by 9e-3 and more; of the diagnostics at most 7e-6, 4e-6 and 8e-8.
TEST(FullTOInBFloat16, stays_close_to_the_reference) {
  const OptionMap stochastic = {{"state", "bfloat16"}};
  const OptionMap nearest = {{"state", "bfloat16"}, {"state_rounding", "nearest"}};
  for (const auto& [d, steps] : {std::pair(100, 2000), std::pair(600, 500)}) {
    SCOPED_TRACE(d);
    const auto dimension = static_cast<std::size_t>(d);
    for (const OptionMap& options : {stochastic, nearest}) {
      const Errors errors = errors_of(dimension, steps, options);
      EXPECT_LE(errors.weights, 4e-5);
      EXPECT_LE(errors.diagnostics, 2e-5);
    }
    EXPECT_LE(errors_of(dimension, steps, {}).weights, 2e-6);
    EXPECT_GE(errors_of(dimension, steps, {{"alpha", "0"}}).weights, 5e-3);
  }
}

/// |r| / |g| after 6400 steps with weights and a gradient that stay, from a matrix of equal elements.
/// The 64 updates between two roundings change an element by 3e-4 of itself at most.
double residual_of_slow_learning(StateType state, StateRounding rounding) {
  const std::size_t d = 64;
  FullTOOptions rule{.lr = 0, .alpha = 1e-5, .beta = 0, .form = Form::dense};
  rule.initial_A.assign(d * d, 0.125);
  rule.state = state;
  rule.state_rounding = rounding;
  FullTO optimizer(d, rule);
  std::vector<float> w(d, 0.125f);
  const std::vector<float> g(d, 1.5f);
  for (int step = 1; step <= 6400; ++step) optimizer.step(w, g);
  return optimizer.last().residual_norm / optimizer.last().gradient_norm;
}

// r = 0.5 (1 - alpha |w|^2)^t. To nearest, the matrix stands still but for the factors that wait.
TEST(FullTOInBFloat16, learns_slowly_where_nearest_stands_still) {
  const double expected = 0.5 / 1.5 * std::pow(1 - 1e-5, 6400);
  const auto residual = residual_of_slow_learning;
  EXPECT_NEAR(residual(StateType::full, StateRounding::stochastic), expected, 1e-4);
  EXPECT_NEAR(residual(StateType::bfloat16, StateRounding::stochastic), expected, 1e-3);
  EXPECT_GT(residual(StateType::bfloat16, StateRounding::nearest), 0.333);
}

// With alpha = 0 nothing is ever rounded, and products with values that bfloat16 holds are those of
// float.
TEST(FullTOInBFloat16, equals_float_where_the_matrix_stays) {
  const std::size_t d = 600;
  const problems::Quadratic problem = bowl(d);
  FullTOOptions options = narrow();
  options.alpha = 0;
  for (const bool given : {false, true}) {
    if (given) {
      // Numbers of seven bits.
      for (std::size_t k = 0; k < d * d; ++k) {
        options.initial_A.push_back((static_cast<double>(k * 7919 % 127) - 63) * 0x1p-16);
      }
    }
    FullTO half(d, options), full(d, in_float(options));
    Model<float> model(one_part(d), problem.start()), expected(one_part(d), problem.start());
    for (int step = 1; step <= 150; ++step) {
      advance(half, model, problem, step, step);
      advance(full, expected, problem, step, step);
      ASSERT_TRUE(same_bits(model.weights(), expected.weights())) << step;
    }
  }
}

// Before the first 64 updates are added to the matrix, nothing has been rounded.
TEST(FullTOInBFloat16, equals_float_for_64_steps) {
  const std::size_t d = 600;
  const problems::Quadratic problem = bowl(d);
  FullTO half(d, narrow()), full(d, in_float(narrow()));
  Model<float> model(one_part(d), problem.start()), expected(one_part(d), problem.start());
  advance(half, model, problem, 1, 64);
  advance(full, expected, problem, 1, 64);
  EXPECT_TRUE(same_bits(model.weights(), expected.weights()));
  advance(half, model, problem, 65, 70);
  advance(full, expected, problem, 65, 70);
  EXPECT_FALSE(same_bits(model.weights(), expected.weights()));
}

std::vector<float> weights_with(std::shared_ptr<Executor> executor, std::size_t d,
                                const FullTOOptions& options, int steps) {
  const problems::Quadratic problem = bowl(d);
  FullTO optimizer(d, options);
  optimizer.set_executor(std::move(executor));
  Model<float> model(one_part(d, 1), problem.start());
  advance(optimizer, model, problem, 1, steps);
  return model.weights();
}

// 135 steps add the delayed updates twice; 1501 rows are cut at odd places.
TEST(FullTOInBFloat16, threads_do_not_change_a_bit) {
  const std::size_t d = 1501;
  for (const StateRounding rounding : {StateRounding::stochastic, StateRounding::nearest}) {
    FullTOOptions options = narrow();
    options.state_rounding = rounding;
    const std::vector<float> expected = weights_with(serial_executor(), d, options, 135);
    EXPECT_TRUE(same_bits(weights_with(pool_executor(2), d, options, 135), expected));
    EXPECT_TRUE(same_bits(weights_with(pool_executor(3), d, options, 135), expected));
    EXPECT_TRUE(
        same_bits(weights_with(std::make_shared<BackwardsExecutor>(5), d, options, 135), expected));
  }
}

TEST(FullTOInBFloat16, another_seed_gives_other_bits) {
  FullTOOptions options = narrow();
  const std::vector<float> first = weights_with(serial_executor(), 600, options, 80);
  options.state_seed = 1;
  EXPECT_FALSE(same_bits(weights_with(serial_executor(), 600, options, 80), first));
}

// As span, at the change, and as dense, with and without factors that wait.
TEST(FullTOInBFloat16, resumes_to_the_bit) {
  for (const std::size_t d : {40, 520}) {
    for (const Form form : {Form::dense, Form::automatic}) {
      const int steps = form == Form::automatic ? 620 : 300;
      const problems::Quadratic problem = bowl(d);
      FullTO whole(d, narrow(form));
      Model<float> model(one_part(d), problem.start());
      advance(whole, model, problem, 1, steps);
      EXPECT_EQ(whole.form(), Form::dense);
      for (int saved_at = 4; saved_at < steps; saved_at += 61) {
        FullTO first(d, narrow(form)), second(d, narrow(form));
        Model<float> resumed(one_part(d), problem.start());
        advance(first, resumed, problem, 1, saved_at);
        load(second, saved(first));
        EXPECT_EQ(saved(second), saved(first));
        advance(second, resumed, problem, saved_at + 1, steps);
        EXPECT_TRUE(same_bits(resumed.weights(), model.weights())) << d << ' ' << saved_at;
      }
    }
  }
}

TEST(FullTOInBFloat16, states_with_a_matrix_of_the_other_type_are_refused) {
  for (const std::size_t d : {40, 600}) {
    const problems::Quadratic problem = bowl(d);
    for (const int steps : {3, 70}) {
      FullTO half(d, narrow()), full(d, in_float(narrow()));
      Model<float> model(one_part(d), problem.start()), other(one_part(d), problem.start());
      advance(half, model, problem, 1, steps);
      advance(full, other, problem, 1, steps);
      const std::string before = saved(half);
      EXPECT_TRUE(throws_saying<StateError>([&] { load(half, saved(full)); },
                                            {"matrix A", "kept in full", "expected bfloat16"}));
      EXPECT_EQ(saved(half), before);
      EXPECT_TRUE(throws_saying<StateError>([&] { load(full, before); },
                                            {"matrix A", "kept in bfloat16", "expected full"}));
    }
  }
  // A history is float whatever its matrix will be.
  const problems::Quadratic problem = bowl(600);
  FullTO half(600, narrow(Form::span)), full(600, in_float(narrow(Form::span)));
  Model<float> model(one_part(600), problem.start());
  advance(full, model, problem, 1, 9);
  load(half, saved(full));
  EXPECT_EQ(saved(half), saved(full));
}

TEST(FullTOInBFloat16, lives_in_the_callers_memory) {
  for (const std::size_t d : {37, 520}) {
    for (const Form form : {Form::dense, Form::automatic}) {
      const problems::Quadratic problem = bowl(d);
      FullTO own(d, narrow(form)), callers(d, narrow(form));
      auto wanderer = std::make_unique<FullTO>(d, narrow(form));
      HostMemory memory(ElementType::float32), moving(ElementType::float32);
      Model<float> first(one_part(d), problem.start()), second(one_part(d), problem.start()),
          third(one_part(d), problem.start());
      const int steps = form == Form::automatic ? 620 : 270;
      for (int step = 1; step <= steps; ++step) {
        if (step % 17 == 0) wanderer = std::make_unique<FullTO>(d, narrow(form));
        if (step % 13 == 0) moving.move();
        memory.bind(callers);
        moving.bind(*wanderer);
        advance(own, first, problem, step, step);
        advance(callers, second, problem, step, step);
        advance(*wanderer, third, problem, step, step);
        ASSERT_TRUE(same_bits(first.weights(), second.weights())) << d << ' ' << step;
        ASSERT_TRUE(same_bits(first.weights(), third.weights())) << d << ' ' << step;
      }
      EXPECT_EQ(own.form(), Form::dense);
      EXPECT_EQ(saved(own), saved(callers));
      EXPECT_EQ(memory.arrays().at("A").type, ElementType::bfloat16);
      EXPECT_EQ(memory.arrays().at("A").counts, std::vector<std::size_t>{d * d});
      for (const char* name : {"b", "u", "v"}) {
        EXPECT_EQ(memory.arrays().at(name).type, ElementType::float32) << name;
      }
      HostMemory bad(memory);
      bad.arrays().at("A").type = ElementType::float32;
      EXPECT_TRUE(
          throws_saying<Invalid>([&] { bad.use(callers, false); }, {"A", "expected", "bfloat16"}));
    }
  }
}

TEST(FullTOInBFloat16, starting_values_are_rounded_to_nearest) {
  // 0.25 and 0.3 with weights of 1: what the estimate is made of.
  FullTOOptions options{.lr = 1, .alpha = 0, .beta = 0, .state = StateType::bfloat16};
  options.initial_A = {0.25, 0, 0, 0.3};
  FullTO optimizer(2, options);
  std::vector<float> w = {1, 1};
  const std::vector<float> g = {0, 0};
  optimizer.step(w, g);
  EXPECT_EQ(w[0], 0.75f);
  EXPECT_EQ(w[1], 1 - 0.30078125f);
  options.initial_A[3] = 3.4e38;  // a float, but beyond bfloat16
  EXPECT_TRUE(throws_saying<Invalid>(
      [&] {
        FullTO beyond(2, options);
        beyond.step(w, g);
      },
      {"initial_A", "bfloat16"}));
}

TEST(FullTOInBFloat16, doubles_are_refused) {
  FullTO optimizer(3, narrow());
  std::vector<double> w(3, 1), g(3, 1);
  EXPECT_TRUE(throws_saying<Invalid>([&] { optimizer.step(w, g); }, {"state", "double"}));
}

}  // namespace
}  // namespace tandem::testing
