// SPDX-License-Identifier: MIT
// State in bfloat16, for every rule that offers it: near float state where it is rounded
// stochastically, the same bits whatever the threads, the cut into segments and machines, and whoever
// owns the memory; and why rounding to nearest is not the default.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/battery.h"
#include "tests/executors.h"
#include "tests/host_memory.h"

namespace tandem::testing {
namespace {

/// Rules whose whole state is elementwise and can be kept in bfloat16.
std::vector<std::string> narrow_rules() {
  std::vector<std::string> names;
  for (const OptimizerInfo& info : optimizer_infos()) {
    const bool offers =
        std::any_of(info.options.begin(), info.options.end(),
                    [](const OptionInfo& option) { return option.name == "state"; });
    const bool elementwise =
        std::none_of(info.arrays.begin(), info.arrays.end(),
                     [](const StateInfo& array) { return array.shape == "other"; });
    if (offers && elementwise) names.push_back(info.name);
  }
  return names;
}

OptionMap with(OptionMap options, const OptionMap& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

const OptionMap narrow = {{"state", "bfloat16"}, {"state_seed", "5"}};

class NarrowState : public ::testing::TestWithParam<std::string> {
 protected:
  const Record& it() const { return record(GetParam()); }
  std::unique_ptr<Optimizer> make(const std::vector<SegmentSpec>& specs,
                                  const OptionMap& more = {}) const {
    return make_optimizer(it().name, specs, with(with(it().quadratic.options, narrow), more));
  }
  std::vector<float> run(Optimizer& optimizer, const Layout& layout, int steps) const {
    const problems::Quadratic problem = bowl_for(it(), layout.dimension());
    Model<float> model(layout, problem.start());
    advance(optimizer, model, problem, 1, steps);
    return model.weights();
  }
};

TEST_P(NarrowState, takes_half_the_memory) {
  const auto full = make_optimizer(it().name, 1000);
  const auto half = make_optimizer(it().name, 1000, narrow);
  EXPECT_EQ(2 * half->state_bytes(), full->state_bytes());
  run(*half, one_part(1000), 2);
  EXPECT_EQ(2 * half->state_bytes(), full->state_bytes());
  for (const StateNeed& need : half->state_needs(ElementType::float32)) {
    if (need.like_weights) {
      EXPECT_EQ(need.type, ElementType::bfloat16) << need.name;
    }
  }
}

TEST_P(NarrowState, stays_near_float_state) {
  const std::size_t d = 2000;
  const auto full = make_optimizer(it().name, d, it().quadratic.options);
  const auto half = make({{d}});
  const std::vector<float> right = run(*full, one_part(d), 300),
                           found = run(*half, one_part(d), 300);
  const problems::Quadratic problem = bowl_for(it(), d);
  const std::vector<double> start = problem.start();
  double error = 0, moved = 0;
  for (std::size_t i = 0; i < d; ++i) {
    error += std::pow(found[i] - right[i], 2);
    moved += std::pow(right[i] - start[i], 2);
  }
  // Measured: 0.0001 (diag-to) to 0.0012 (adam), and 0.015 of lion, whose steps are signs.
  EXPECT_LT(std::sqrt(error / moved), it().name == "lion" ? 0.03 : 0.003);
  EXPECT_GT(error, 0);  // it is not float state under another name
}

TEST_P(NarrowState, has_the_same_bits_on_any_threads_and_cuts) {
  const std::size_t d = 70000;
  const auto alone = make({{d}});
  alone->set_executor(serial_executor());
  const std::vector<float> right = run(*alone, one_part(d, 1), 6);
  for (const int threads : {2, 3}) {
    const auto shared = make({{d}});
    shared->set_executor(pool_executor(threads));
    EXPECT_TRUE(same_bits(run(*shared, one_part(d, 3), 6), right)) << threads;
    EXPECT_EQ(saved(*shared), saved(*alone));
  }
  const Layout parts = many_parts(d, 1);
  const auto cut = make(parts.specs());
  EXPECT_TRUE(same_bits(run(*cut, parts, 6), right));
}

TEST_P(NarrowState, has_the_same_bits_in_shards_that_know_their_place) {
  const std::size_t d = 500, left_size = 301;
  const problems::Quadratic problem = bowl_for(it(), d);
  const auto whole = make({{d}});
  const auto left = make({{left_size}});
  const auto right = make({{.size = d - left_size, .first_element = left_size}});
  const std::vector<double> start = problem.start();
  std::vector<float> w(start.begin(), start.end()), w2 = w, g(d);
  std::vector<double> at(d), gradient(d);
  for (std::uint64_t step = 1; step <= 40; ++step) {
    at.assign(w.begin(), w.end());
    problem.stochastic_gradient(at, step, gradient);
    g.assign(gradient.begin(), gradient.end());
    whole->step(w, g);
    left->step(std::span(w2).first(left_size), std::span<const float>(g).first(left_size));
    right->step(std::span(w2).subspan(left_size), std::span<const float>(g).subspan(left_size));
  }
  EXPECT_TRUE(same_bits(w, w2));
}

TEST_P(NarrowState, depends_on_its_seed_alone) {
  const auto first = make({{300}}), same = make({{300}}),
             other = make({{300}}, {{"state_seed", "6"}});
  const std::vector<float> w = run(*first, one_part(300), 20);
  EXPECT_TRUE(same_bits(run(*same, one_part(300), 20), w));
  run(*other, one_part(300), 20);
  EXPECT_NE(saved(*other), saved(*first));
}

TEST_P(NarrowState, resumes_to_the_bit_and_in_the_callers_memory) {
  const std::size_t d = 333;
  const problems::Quadratic problem = bowl_for(it(), d);
  for (const OptionMap& more : {OptionMap{}, OptionMap{{"state_rounding", "nearest"}}}) {
    const auto own = make({{d}}, more), resumed = make({{d}}, more), callers = make({{d}}, more);
    HostMemory memory(ElementType::float32);
    Model<float> first(one_part(d), problem.start()), second = first, third = first;
    advance(*own, first, problem, 1, 10);
    advance(*resumed, second, problem, 1, 4);
    const auto after = make({{d}}, more);
    load(*after, saved(*resumed));
    advance(*after, second, problem, 5, 10);
    EXPECT_TRUE(same_bits(second.weights(), first.weights()));
    for (int step = 1; step <= 10; ++step) {
      memory.bind(*callers);
      memory.move();
      memory.bind(*callers);
      advance(*callers, third, problem, step, step);
    }
    EXPECT_TRUE(same_bits(third.weights(), first.weights()));
    EXPECT_EQ(saved(*callers), saved(*own));
    EXPECT_EQ(saved(*after), saved(*own));
  }
  // A state of another type is refused.
  const auto full = make_optimizer(it().name, d);
  const std::string before = saved(*full);
  const auto half = make({{d}});
  run(*half, one_part(d), 2);
  EXPECT_THROW(load(*full, saved(*half)), StateError);
  EXPECT_EQ(saved(*full), before);
}

TEST_P(NarrowState, steps_on_bfloat16_weights_too) {
  const std::size_t d = 9000;
  const auto optimizer = make({{d}}), twin = make({{d}});
  twin->set_executor(pool_executor(3));
  std::vector<BFloat16> w(d), g(d);
  std::mt19937 random(3);
  for (std::size_t i = 0; i < d; ++i) {
    w[i].bits = static_cast<std::uint16_t>(0x3F00 + random() % 0x80);  // 0.5 to 1
    g[i].bits = static_cast<std::uint16_t>(0x3D00 + random() % 0x80);
  }
  std::vector<BFloat16> w2 = w;
  const Rounding rounding{.stochastic = true, .seed = 9};
  for (int step = 0; step < 12; ++step) {
    const Segment<BFloat16> one{w, g}, two{w2, g};
    optimizer->step(std::span(&one, 1), rounding);
    twin->step(std::span(&two, 1), rounding);
  }
  EXPECT_TRUE(same_bits(w, w2));
}

TEST_P(NarrowState, is_refused_for_double_weights) {
  const auto optimizer = make({{3}});
  std::vector<double> w = {1, 2, 3}, g = {1, 1, 1};
  const std::vector<double> before = w;
  EXPECT_TRUE(throws_saying<std::invalid_argument>([&] { optimizer->step(w, g); },
                                                   {it().name, "bfloat16", "double"}));
  EXPECT_EQ(w, before);
}

INSTANTIATE_TEST_SUITE_P(rules, NarrowState, ::testing::ValuesIn(narrow_rules()), name_of);

/// Adam's v after gradients of 1 became gradients of a hundredth: it has to fall by 0.1 % a step,
/// less than the 0.4 % between two numbers of bfloat16.
TEST(NarrowRounding, to_nearest_freezes_an_average_and_stochastic_does_not) {
  const std::size_t d = 2000;
  const auto mean_step = [&](const OptionMap& options) {
    const auto adam = make_optimizer("adam", d, with({{"lr", "0"}}, options));
    std::vector<float> w(d, 1.0F), g(d, 1.0F);
    for (int step = 0; step < 3000; ++step) adam->step(w, g);
    std::fill(g.begin(), g.end(), 0.01F);
    for (int step = 0; step < 3000; ++step) adam->step(w, g);
    // Read off the next step: the weights move by m / sqrt(v).
    adam->set_lr(1);
    std::vector<float> zero(d, 0.0F);
    std::vector<float> before = w;
    adam->step(w, zero);
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) sum += before[i] - w[i];
    return sum / static_cast<double>(d);
  };
  const double right = mean_step({});
  const double stochastic = mean_step(narrow);
  const double nearest = mean_step(with(narrow, {{"state_rounding", "nearest"}}));
  EXPECT_NEAR(stochastic / right, 1, 0.03);
  EXPECT_LT(nearest / right, 0.5);
}

}  // namespace
}  // namespace tandem::testing
