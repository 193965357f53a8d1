// SPDX-License-Identifier: MIT
// What hosts like torch need of segments: one that is left out of a step or is empty, bfloat16
// weights, and options that change between steps.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/narrow.h"
#include "tests/battery.h"

namespace tandem::testing {
namespace {

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  Random random(seed, 5);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(0.1 * random.normal());
  return values;
}

bool needs_all(const std::string& name) { return name == "full-to" || name == "block-to"; }

class HostSegments : public Battery {
 protected:
  static constexpr std::size_t kFirst = 4099, kSecond = 70, kThird = 9;

  std::unique_ptr<Optimizer> three() const {
    return make_optimizer(it().name, {{kFirst}, {kSecond}, {kThird}});
  }
};

TEST_P(HostSegments, LeftOutAreNotTouchedAndTheOthersStepAsEver) {
  if (needs_all(GetParam())) {
    auto optimizer = make_optimizer(it().name, {{3}, {2}});
    std::vector<float> weights(5, 1), gradient(5, 1);
    const std::vector<Segment<float>> segments = {
        {std::span(weights).first(3), {}},
        {std::span(weights).last(2), std::span<const float>(gradient).last(2)}};
    EXPECT_TRUE(throws_saying<std::invalid_argument>([&] { optimizer->step(segments); },
                                                     {it().name, "segment 0", "no gradient"}));
    return;
  }
  auto all = three();
  auto two = make_optimizer(it().name, {{kFirst}, {kThird}});
  std::vector<float> w = random_floats(kFirst + kSecond + kThird, 1);
  // RO-TO's first c is made of all weights, so those that are left out are 0.
  std::fill_n(w.begin() + kFirst, kSecond, 0.0F);
  std::vector<float> v(w.begin(), w.begin() + kFirst);
  v.insert(v.end(), w.end() - kThird, w.end());
  const std::vector<float> second(w.begin() + kFirst, w.begin() + kFirst + kSecond);
  for (std::uint64_t step = 0; step < 30; ++step) {
    const std::vector<float> g = random_floats(kFirst + kThird, 100 + step);
    const std::span<const float> first_g = std::span(g).first(kFirst);
    const std::span<const float> third_g = std::span(g).last(kThird);
    const std::vector<Segment<float>> some = {{std::span(w).first(kFirst), first_g},
                                              {std::span(w).subspan(kFirst, kSecond), {}},
                                              {std::span(w).last(kThird), third_g}};
    const std::vector<Segment<float>> both = {{std::span(v).first(kFirst), first_g},
                                              {std::span(v).last(kThird), third_g}};
    all->step(some);
    two->step(both);
  }
  EXPECT_TRUE(same_bits(std::vector<float>(w.begin(), w.begin() + kFirst),
                        std::vector<float>(v.begin(), v.begin() + kFirst)));
  EXPECT_TRUE(same_bits(std::vector<float>(w.end() - kThird, w.end()),
                        std::vector<float>(v.end() - kThird, v.end())));
  EXPECT_TRUE(
      same_bits(std::vector<float>(w.begin() + kFirst, w.begin() + kFirst + kSecond), second));
  // It comes back, and moves.
  const std::vector<float> g = random_floats(w.size(), 7);
  const std::vector<Segment<float>> everything = {
      {std::span(w).first(kFirst), std::span(g).first(kFirst)},
      {std::span(w).subspan(kFirst, kSecond), std::span(g).subspan(kFirst, kSecond)},
      {std::span(w).last(kThird), std::span(g).last(kThird)}};
  all->step(everything);
  EXPECT_FALSE(
      same_bits(std::vector<float>(w.begin() + kFirst, w.begin() + kFirst + kSecond), second));
}

TEST_P(HostSegments, NoGradientAtAllIsRefused) {
  auto optimizer = make_optimizer(it().name, {{3}, {2}});
  std::vector<float> weights(5, 1);
  const std::vector<Segment<float>> none = {{std::span(weights).first(3), {}},
                                            {std::span(weights).last(2), {}}};
  EXPECT_TRUE(
      throws_saying<std::invalid_argument>([&] { optimizer->step(none); }, {it().name, "no"}));
  EXPECT_TRUE(throws_saying<std::invalid_argument>(
      [&] { make_optimizer(it().name, 3)->step(std::span(weights).first(3), {}); },
      {it().name, "gradient: 0, expected 3"}));
}

/// The same run on bfloat16 weights, and on float ones that are rounded after each step.
void expect_rounded_run(const std::string& name, const OptionMap& options, bool stochastic) {
  SCOPED_TRACE(name + (stochastic ? " stochastic" : " nearest"));
  const std::size_t dimension = needs_all(name) ? 700 : 9000;
  auto narrow = make_optimizer(name, dimension, options);
  auto wide = make_optimizer(name, dimension, options);
  std::vector<float> w = random_floats(dimension, 2);
  std::vector<BFloat16> w16(dimension), g16(dimension);
  kernels::narrow(w.data(), dimension, w16.data());
  const Rounding rounding{.stochastic = stochastic, .seed = 11};
  for (std::uint64_t step = 0; step < 20; ++step) {
    std::vector<float> g = random_floats(dimension, 300 + step);
    kernels::narrow(g.data(), dimension, g16.data());
    kernels::widen(g16.data(), dimension, g.data());
    kernels::widen(w16.data(), dimension, w.data());
    const std::vector<BFloat16> before = w16;
    const std::vector<Segment<BFloat16>> segment = {{w16, g16}};
    narrow->step(segment, rounding);
    wide->step(w, g);
    for (std::size_t i = 0; i < dimension; ++i) {
      float found = 0;
      kernels::widen(&w16[i], 1, &found);
      const float gap = std::abs(w[i]) * 0x1p-7F;
      ASSERT_LE(std::abs(found - w[i]), stochastic ? gap : gap / 2)
          << "index " << i << " in step " << step;
    }
    if (stochastic) continue;
    std::vector<BFloat16> rounded(dimension);
    kernels::narrow(w.data(), dimension, rounded.data());
    for (std::size_t i = 0; i < dimension; ++i) ASSERT_EQ(w16[i].bits, rounded[i].bits);
  }
}

TEST_P(HostSegments, BFloat16WeightsAreSteppedInFloatAndRounded) {
  expect_rounded_run(it().name, {}, false);
  expect_rounded_run(it().name, {}, true);
  expect_rounded_run(it().name, {{"projection", "box(-0.2,0.2)"}}, false);
}

TEST_P(HostSegments, BFloat16RunsDoNotDependOnThreads) {
  const std::size_t dimension = needs_all(it().name) ? 700 : 200000;
  std::vector<std::vector<std::uint16_t>> seen;
  for (const int threads : {1, 2, 5}) {
    auto optimizer = make_optimizer(it().name, dimension);
    optimizer->set_executor(pool_executor(threads));
    std::vector<BFloat16> w(dimension), g(dimension);
    kernels::narrow(random_floats(dimension, 2).data(), dimension, w.data());
    for (std::uint64_t step = 0; step < 4; ++step) {
      kernels::narrow(random_floats(dimension, step).data(), dimension, g.data());
      const std::vector<Segment<BFloat16>> segment = {{w, g}};
      optimizer->step(segment, {.stochastic = true, .seed = 3});
    }
    std::vector<std::uint16_t>& bits = seen.emplace_back();
    for (const BFloat16 weight : w) bits.push_back(weight.bits);
    EXPECT_EQ(bits, seen.front()) << threads;
  }
}

TEST_P(HostSegments, BFloat16GradientsThatAreNotFiniteChangeNothing) {
  auto optimizer = make_optimizer(it().name, {{5}, {2}});
  std::vector<BFloat16> w(7, BFloat16{0x3F80}), g(7, BFloat16{0x3F80});
  g[6].bits = 0x7FC0;
  const std::vector<Segment<BFloat16>> segments = {
      {std::span(w).first(5), std::span<const BFloat16>(g).first(5)},
      {std::span(w).last(2), std::span<const BFloat16>(g).last(2)}};
  EXPECT_TRUE(throws_saying<NonFiniteGradient>([&] { optimizer->step(segments); },
                                               {it().name, "segment 1", "nan", "index 1"}));
  for (const BFloat16 weight : w) EXPECT_EQ(weight.bits, 0x3F80);
  EXPECT_EQ(optimizer->clock().step, 1U);
}

/// Two segments, and the same two with empty ones around them: float, or bfloat16.
template <class T>
void expect_run_without_gaps(const std::string& name, const OptionMap& options) {
  const std::vector<SegmentSpec> gaps = {{0}, {400}, {0}, {0}, {250}, {0}};
  auto plain = make_optimizer(name, {{400}, {250}}, options);
  auto gappy = make_optimizer(name, gaps, options);
  const auto values = [](std::uint64_t seed) {
    std::vector<float> wide = random_floats(650, seed);
    if constexpr (std::is_same_v<T, float>) {
      return wide;
    } else {
      std::vector<T> narrow(wide.size());
      kernels::narrow(wide.data(), wide.size(), narrow.data());
      return narrow;
    }
  };
  std::vector<T> w = values(1), v = w;
  for (std::uint64_t step = 0; step < 12; ++step) {
    if (step == 6) {
      const std::string state = saved(*gappy);
      gappy = make_optimizer(name, gaps, options);
      load(*gappy, state);
    }
    const std::vector<T> g = values(100 + step);
    const std::span<const T> gradient(g);
    const auto two = [&](std::vector<T>& weights) {
      return std::vector<Segment<T>>{{std::span(weights).first(400), gradient.first(400)},
                                     {std::span(weights).last(250), gradient.last(250)}};
    };
    const std::vector<Segment<T>> both = two(w), other = two(v);
    const std::vector<Segment<T>> six = {{}, other[0], {}, {}, other[1], {}};
    plain->step(both);
    gappy->step(six);
    ASSERT_EQ(std::memcmp(w.data(), v.data(), w.size() * sizeof(T)), 0) << "step " << step;
  }
  EXPECT_EQ(saved(*plain), saved(*gappy));
}

TEST_P(HostSegments, EmptyOnesChangeNothing) {
  for (const OptionMap& options : {OptionMap{}, OptionMap{{"l2", "0.1"}, {"projection", "ball(2)"}},
                                   OptionMap{{"projection", "box(-0.2,0.2)"}}}) {
    expect_run_without_gaps<float>(it().name, options);
    expect_run_without_gaps<BFloat16>(it().name, options);
  }
  // What is not finite is found behind them.
  auto optimizer = make_optimizer(it().name, {{0}, {2}, {0}, {1}});
  std::vector<float> w(3, 1), g = {1, 1, std::numeric_limits<float>::infinity()};
  const std::vector<Segment<float>> segments = {
      {},
      {std::span(w).first(2), std::span<const float>(g).first(2)},
      {},
      {std::span(w).last(1), std::span<const float>(g).last(1)}};
  EXPECT_TRUE(throws_saying<NonFiniteGradient>([&] { optimizer->step(segments); },
                                               {it().name, "segment 3", "index 0"}));
  EXPECT_TRUE(throws_saying<std::invalid_argument>(
      [&] {
        make_optimizer(it().name, std::vector<SegmentSpec>{{0}, {0}});
      },
      {it().name, "dimension: 0"}));
}

TEST_P(HostSegments, OptionsThatChangeTakeTheStateAlong) {
  const std::size_t dimension = 600;
  const OptionMap later = {{"lr", "0.003"}, {"l2", "0.01"}, {"weight_decay", "0.1"}};
  auto changed = make_optimizer(it().name, dimension);
  auto loaded = make_optimizer(it().name, dimension, later);
  std::vector<float> w = random_floats(dimension, 1);
  for (std::uint64_t step = 0; step < 10; ++step) changed->step(w, random_floats(dimension, step));
  load(*loaded, saved(*changed));
  changed->set_options({{dimension}}, later);
  std::vector<float> v = w;
  for (std::uint64_t step = 10; step < 20; ++step) {
    changed->step(w, random_floats(dimension, step));
    loaded->step(v, random_floats(dimension, step));
  }
  EXPECT_TRUE(same_bits(w, v));
  EXPECT_TRUE(throws_saying<std::invalid_argument>(
      [&] { changed->set_options({{dimension + 1}}, later); }, {it().name, "size of segment 0"}));
  EXPECT_TRUE(throws_saying<std::invalid_argument>(
      [&] {
        changed->set_options({{dimension}}, {{"lr", "-1"}});
      },
      {it().name, "lr", "-1"}));
  EXPECT_DOUBLE_EQ(changed->lr(), 0.003);
}

TEST_P(HostSegments, RatesThatMoveAreOptionsThatChange) {
  const std::size_t half = 300;
  const bool trainable = it().name.ends_with("-to");
  // Full-TO has one rate for all segments, or for each from the start.
  for (const bool own : {false, true}) {
    const auto specs = [&](double factor) {
      if (!own) return std::vector<SegmentSpec>{{half}, {half}};
      return std::vector<SegmentSpec>{{half, 0.004 * factor, 0.2 * factor}, {half, 0.002, 0.0}};
    };
    auto moved = make_optimizer(it().name, specs(1));
    auto changed = make_optimizer(it().name, specs(1));
    std::vector<float> w = random_floats(2 * half, 1);
    std::vector<float> v = w;
    for (std::uint64_t step = 0; step < 20; ++step) {
      const double factor = 1 / (1.0 + static_cast<double>(step));
      OptionMap options = {{"lr", fmt::format("{}", 0.003 * factor)},
                           {"l2", fmt::format("{}", 0.01 * factor)},
                           {"weight_decay", fmt::format("{}", 0.1 * factor)}};
      moved->set_lr(0.003 * factor);
      moved->set_decay("l2", 0.01 * factor);
      moved->set_decay("weight_decay", 0.1 * factor);
      if (trainable) {
        options["alpha"] = fmt::format("{}", 1e-4 * factor);
        options["beta"] = fmt::format("{}", 0.5 * factor);
        moved->set_rate("alpha", 1e-4 * factor);
        moved->set_rate("beta", 0.5 * factor);
      }
      if (own) moved->set_segment(0, specs(factor)[0]);
      changed->set_options(specs(factor), options);
      const std::vector<float> g = random_floats(2 * half, step);
      const auto segments = [&](std::vector<float>& weights) {
        const std::span<const float> all = g;
        return std::vector<Segment<float>>{{std::span(weights).first(half), all.first(half)},
                                           {std::span(weights).last(half), all.last(half)}};
      };
      moved->step(segments(w));
      changed->step(segments(v));
    }
    EXPECT_TRUE(same_bits(w, v)) << own;
    EXPECT_EQ(saved(*moved), saved(*changed)) << own;
    // What cannot be changes nothing.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const char* option : {"l2", "weight_decay"}) {
      for (const double bad : {-1.0, nan, std::numeric_limits<double>::infinity()}) {
        EXPECT_TRUE(throws_saying<std::invalid_argument>(
            [&] { moved->set_decay(option, bad); },
            {it().name,
             fmt::format("Invalid {}: {}, expected a finite number >= 0", option, bad)}));
      }
    }
    EXPECT_TRUE(throws_saying<std::invalid_argument>([&] { moved->set_decay("lr", 0.1); },
                                                     {it().name, "Unknown decay 'lr'"}));
    EXPECT_TRUE(throws_saying<std::invalid_argument>([&] { moved->set_rate("eps", 0.1); },
                                                     {it().name, "Unknown rate 'eps'"}));
    if (own) {
      EXPECT_TRUE(throws_saying<std::invalid_argument>(
          [&] {
            moved->set_segment(1, {half, -1.0, 0.0});
          },
          {it().name, "lr of segment 1: -1"}));
    }
    EXPECT_EQ(saved(*moved), saved(*changed)) << own;
  }
}

INSTANTIATE_TEST_SUITE_P(records, HostSegments, ::testing::ValuesIn(record_names()), name_of);

TEST(HostOptions, WhatTheStateIsMadeForCannotChange) {
  auto block = make_optimizer("block-to", 64, {{"block", "8"}});
  EXPECT_TRUE(throws_saying<std::invalid_argument>(
      [&] {
        block->set_options({{64}}, {{"block", "4"}});
      },
      {"block-to", "block"}));
  auto diagonal = make_optimizer("diag-to", 64);
  EXPECT_TRUE(throws_saying<std::invalid_argument>(
      [&] {
        diagonal->set_options({{64}}, {{"normalize", "true"}});
      },
      {"diag-to", "normalize"}));
  auto full = make_optimizer("full-to", 64);
  EXPECT_TRUE(throws_saying<std::invalid_argument>(
      [&] {
        full->set_options({{64, 0.1}}, {});
      },
      {"full-to", "segment 0", "rates"}));
}

}  // namespace
}  // namespace tandem::testing
