// SPDX-License-Identifier: MIT
// What an optimizer says about itself (name, clock, rate, bytes of state, the registry's table),
// and that it reaches the optimum of problems that know theirs.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "problems/logistic.h"
#include "problems/quadratic.h"
#include "problems/rosenbrock.h"
#include "tests/battery.h"

namespace tandem::testing {
namespace {

class Facts : public Battery {};

TEST_P(Facts, name_and_dimension) {
  const auto optimizer = make_optimizer(it().name, 7);
  EXPECT_EQ(optimizer->name(), it().name);
  EXPECT_EQ(optimizer->dimension(), 7u);
  const auto segmented =
      make_optimizer(it().name, {SegmentSpec{.size = 3}, SegmentSpec{.size = 5}});
  EXPECT_EQ(segmented->dimension(), 8u);
}

TEST_P(Facts, clock_and_rate) {
  const auto optimizer = make_optimizer(it().name, 2, {{"lr", "0.1*0.5^(t/10)"}, {"decay", "0.5"}});
  std::vector<float> w(2, 0.1f), g(2, 0.1f);
  EXPECT_EQ(optimizer->clock(), (Clock{.step = 1, .epoch = 0}));
  for (int step = 1; step <= 6; ++step) {
    const int epoch = (step - 1) / 2;
    EXPECT_EQ(optimizer->clock(), (Clock{.step = static_cast<std::uint64_t>(step),
                                         .epoch = static_cast<std::uint64_t>(epoch)}));
    EXPECT_NEAR(optimizer->lr(), 0.1 * std::pow(0.5, step / 10.0) * std::pow(0.5, epoch), 1e-15);
    optimizer->step(w, g);
    if (step % 2 == 0) optimizer->epoch_end();
  }
  const auto constant = make_optimizer(it().name, 2, {{"lr", "0.1"}});
  constant->set_lr(0.25);
  EXPECT_EQ(constant->lr(), 0.25);
  constant->set_lr(Schedule::exponential_epochs(0.5, 0.1));
  EXPECT_EQ(constant->lr(), 0.5);
  constant->epoch_end();
  EXPECT_NEAR(constant->lr(), 0.05, 1e-16);
}

// A scheduler's rates give the steps that a schedule's do, and segments with rates of their own
// keep them.
TEST_P(Facts, set_lr_moves_the_segments_without_a_rate) {
  const std::vector<SegmentSpec> specs = {{.size = 2}, {.size = 2, .lr = 0.01}};
  OptionMap options = {{"lr", "0.02"}};
  if (it().name == "full-to") options["form"] = "dense";
  const auto expected = make_optimizer(it().name, specs, options);
  options["lr"] = "0.5";
  const auto optimizer = make_optimizer(it().name, specs, options);
  std::vector<std::vector<double>> weights;
  for (const auto& one : {optimizer.get(), expected.get()}) {
    one->set_lr(0.02);
    std::vector<double> w = {0.1, 0.2, 0.3, 0.4}, g = {0.4, -0.3, 0.2, -0.1};
    const std::vector<Segment<double>> parts = {
        {std::span(w).first(2), std::span<const double>(g).first(2)},
        {std::span(w).last(2), std::span<const double>(g).last(2)}};
    for (int step = 0; step < 5; ++step) one->step(parts);
    weights.push_back(w);
  }
  EXPECT_TRUE(same_bits(weights[0], weights[1]));
}

TEST_P(Facts, bytes_of_state) {
  for (const std::size_t d : {1, 7, 64, 1000}) {
    const auto with_float = make_optimizer(it().name, d, it().state_bytes_options);
    EXPECT_EQ(with_float->state_bytes(), it().state_bytes(d)) << d;
    std::vector<float> w(d, 0.01f), g(d, 0.01f);
    for (int step = 0; step < 3; ++step) with_float->step(w, g);
    EXPECT_EQ(with_float->state_bytes(), it().state_bytes(d)) << d;
    const auto with_double = make_optimizer(it().name, d, it().state_bytes_options);
    std::vector<double> w2(d, 0.01), g2(d, 0.01);
    for (int step = 0; step < 3; ++step) with_double->step(w2, g2);
    EXPECT_EQ(with_double->state_bytes(), 2 * it().state_bytes(d)) << d;
  }
}

TEST_P(Facts, diagnostics_of_trainable_ones_only) {
  const auto optimizer = make_optimizer(it().name, 2);
  EXPECT_TRUE(std::isnan(optimizer->last().residual_norm));
  EXPECT_TRUE(std::isnan(optimizer->last().gradient_norm));
  EXPECT_TRUE(std::isnan(optimizer->last().delta));
  std::vector<float> w(2, 1), g = {3, 4};
  optimizer->step(w, g);
  EXPECT_EQ(std::isnan(optimizer->last().residual_norm), !it().trainable);
  EXPECT_EQ(std::isnan(optimizer->last().gradient_norm), !it().trainable);
  EXPECT_EQ(std::isnan(optimizer->last().delta), !it().trainable);
  if (it().trainable) {
    EXPECT_NEAR(optimizer->last().gradient_norm, 5, 1e-5);
    EXPECT_NEAR(optimizer->last().residual_norm, 5, 1e-5);  // nothing predicted yet
  }
}

TEST_P(Facts, registry_tells_the_same) {
  const OptimizerInfo* info = nullptr;
  for (const OptimizerInfo& one : optimizer_infos())
    if (one.name == it().name) info = &one;
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->trainable, it().trainable);
  EXPECT_FALSE(info->class_name.empty());
  EXPECT_FALSE(info->rule.empty());
  EXPECT_FALSE(info->state.empty());
  EXPECT_FALSE(info->reference.empty());
  OptionMap all;
  for (const OptionInfo& option : info->options) {
    EXPECT_NO_THROW(make_optimizer(it().name, 3, {{option.name, option.default_value}}))
        << option.name << "=" << option.default_value;
    all[option.name] = option.default_value;
  }
  // The defaults, written out, are the defaults.
  const auto written = make_optimizer(it().name, 3, all), bare = make_optimizer(it().name, 3);
  std::vector<double> w = {0.3, -0.2, 0.1}, w2 = w, g = {0.1, 0.2, -0.3};
  for (int step = 0; step < 20; ++step) {
    written->step(w, g);
    bare->step(w2, g);
  }
  EXPECT_TRUE(same_bits(w, w2));
  for (const OptionSet& set : it().sets)
    for (const auto& [name, value] : set.options) EXPECT_TRUE(all.contains(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(records, Facts, ::testing::ValuesIn(record_names()), name_of);

TEST(Moved, optimizers_go_on) {
  const problems::Quadratic problem = bowl_for(record("diag-to"), 9);
  DiagonalTO first(9, {.lr = 0.1}), twin(9, {.lr = 0.1});
  Model<float> model(one_part(9), problem.start()), other(one_part(9), problem.start());
  advance(first, model, problem, 1, 5);
  DiagonalTO second(std::move(first));
  advance(second, model, problem, 6, 12);
  DiagonalTO third(2);
  third = std::move(second);
  EXPECT_EQ(third.dimension(), 9u);
  advance(third, model, problem, 13, 30);
  advance(twin, other, problem, 1, 30);
  EXPECT_TRUE(same_bits(model.weights(), other.weights()));
}

// A new optimizer without a record is untested.
TEST(Registry, every_optimizer_has_a_record) {
  std::vector<std::string> names;
  for (const OptimizerInfo& info : optimizer_infos()) names.push_back(info.name);
  std::vector<std::string> tested = record_names();
  std::sort(names.begin(), names.end());
  std::sort(tested.begin(), tested.end());
  EXPECT_EQ(names, tested);
}

// ---- Optima -------------------------------------------------------------------------------------

class Optimum : public Battery {
 protected:
  template <class T>
  void reach(const problems::Objective& problem, const Tuned& tuned) const {
    SCOPED_TRACE(sizeof(T) == 4 ? "float" : "double");
    const std::size_t d = problem.dimension();
    const auto optimizer = make_optimizer(it().name, d, tuned.options);
    const std::vector<double> start = problem.start();
    std::vector<T> w(start.begin(), start.end()), g(d);
    std::vector<double> w_double(start), g_double(d);
    for (int step = 0; step < tuned.steps; ++step) {
      problem.gradient(w_double, g_double);
      for (std::size_t i = 0; i < d; ++i) g[i] = static_cast<T>(g_double[i]);
      optimizer->step(w, g);
      w_double.assign(w.begin(), w.end());
    }
    EXPECT_LT(problem.loss(w_double) - problem.optimum_loss(), tuned.gap);
  }
};

TEST_P(Optimum, of_a_quadratic) {
  const problems::Quadratic problem(
      {.eigenvalues = problems::geometric_eigenvalues(10, 0.1, 5), .seed = 5});
  reach<float>(problem, it().quadratic);
  reach<double>(problem, it().quadratic);
}

TEST_P(Optimum, of_rosenbrock) {
  const problems::Rosenbrock problem;
  reach<float>(problem, it().rosenbrock);
  reach<double>(problem, it().rosenbrock);
}

TEST_P(Optimum, of_a_logistic_regression) {
  const problems::Logistic problem;
  reach<float>(problem, it().logistic);
  reach<double>(problem, it().logistic);
}

INSTANTIATE_TEST_SUITE_P(records, Optimum, ::testing::ValuesIn(record_names()), name_of);

}  // namespace
}  // namespace tandem::testing
