// SPDX-License-Identifier: MIT
// Properties of schedules and projections for random parameters: text that comes back to the bit,
// values as the formulas say, bounds, malformed text refused, projections that are idempotent.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/harness.h"

namespace tandem::testing {
namespace {

using Invalid = std::invalid_argument;

/// Positive doubles over many magnitudes, with all their digits.
rc::Gen<double> positive() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 52),
                                    rc::gen::inRange(-300, 300)),
                      [](const std::pair<std::uint64_t, int>& parts) {
                        const double mantissa = 1 + static_cast<double>(parts.first) * 0x1p-52;
                        return std::ldexp(mantissa, parts.second);
                      });
}

/// Rates, factors and spans that people write.
rc::Gen<double> moderate() {
  return rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 1000000000),
                      [](std::uint64_t n) { return static_cast<double>(n) * 1e-6; });
}

/// More than 0, at most 1.
rc::Gen<double> fraction() {
  return rc::gen::map(rc::gen::inRange<std::uint64_t>(1, (std::uint64_t{1} << 53) + 1),
                      [](std::uint64_t n) { return static_cast<double>(n) * 0x1p-53; });
}

Schedule any_schedule(const rc::Gen<double>& size) {
  const double rate = *size, span = *size, part = *fraction();
  Schedule schedule = rate;
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      break;
    case 1:
      schedule = Schedule::exponential_epochs(rate, part);
      break;
    case 2:
      schedule = Schedule::exponential_steps(rate, part, span);
      break;
    case 3:
      schedule = Schedule::inverse(rate, span, *rc::gen::inRange(1, 3));
      break;
    case 4:
      schedule = Schedule::cosine_steps(rate, span, part);
      break;
    default:
      schedule = Schedule::cosine_epochs(rate, span, part);
  }
  return *rc::gen::arbitrary<bool>() ? schedule.with_warmup(*size) : schedule;
}

Clock any_clock() {
  return {.step = *rc::gen::inRange<std::uint64_t>(1, 100000),
          .epoch = *rc::gen::inRange<std::uint64_t>(0, 1000)};
}

void rc_near(double x, double y) { RC_ASSERT(std::abs(x - y) <= 1e-12 * std::abs(y) + 1e-300); }

RC_GTEST_PROP(ScheduleProperty, text_comes_back_to_the_bit, ()) {
  const Schedule schedule = any_schedule(*rc::gen::arbitrary<bool>() ? positive() : moderate());
  const Schedule again = Schedule::parse(schedule.to_string());
  RC_LOG() << schedule.to_string() << std::endl;
  RC_ASSERT(again == schedule);
  RC_ASSERT(again.to_string() == schedule.to_string());
  const Clock clock = any_clock();
  const double x = again.at(clock), y = schedule.at(clock);
  RC_ASSERT(x == y || (std::isnan(x) && std::isnan(y)));
}

RC_GTEST_PROP(ScheduleProperty, values_are_the_formulas, ()) {
  const double rate = *moderate(), span = *moderate(), part = *fraction();
  const Clock clock = any_clock();
  const double t = static_cast<double>(clock.step), e = static_cast<double>(clock.epoch);
  const auto cosine = [&](double x) {
    return part + (1 - part) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, x)));
  };
  RC_ASSERT(Schedule(rate).at(clock) == rate);
  rc_near(Schedule::exponential_epochs(rate, part).at(clock), rate * std::pow(part, e));
  rc_near(Schedule::exponential_steps(rate, part, span).at(clock), rate * std::pow(part, t / span));
  rc_near(Schedule::inverse(rate, span).at(clock), rate / (t + span));
  rc_near(Schedule::inverse(rate, span, 2).at(clock), rate / ((t + span) * (t + span)));
  const double by_step = Schedule::cosine_steps(rate, span, part).at(clock);
  const double by_epoch = Schedule::cosine_epochs(rate, span, part).at(clock);
  RC_ASSERT(std::abs(by_step - rate * cosine((t - 1) / span)) <= 1e-12 * rate);
  RC_ASSERT(std::abs(by_epoch - rate * cosine(e / span)) <= 1e-12 * rate);
  const Schedule any = any_schedule(moderate());
  rc_near(Schedule(rate).with_warmup(span).at(clock), rate * std::min(1.0, t / span));
  RC_ASSERT(std::isfinite(any.at(clock)));
}

// All of them start at no more than the rate, never grow without a warm-up, never go below 0.
RC_GTEST_PROP(ScheduleProperty, values_are_bounded_and_fall, ()) {
  const double rate = *moderate(), span = *moderate(), part = *fraction();
  const std::vector<Schedule> schedules = {Schedule(rate),
                                           Schedule::exponential_epochs(rate, part),
                                           Schedule::exponential_steps(rate, part, span),
                                           Schedule::inverse(rate, span),
                                           Schedule::inverse(rate, span, 2),
                                           Schedule::cosine_steps(rate, span, part),
                                           Schedule::cosine_epochs(rate, span, part)};
  const Clock now = any_clock();
  Clock later = now;
  later.step += *rc::gen::inRange<std::uint64_t>(0, 1000);
  later.epoch += *rc::gen::inRange<std::uint64_t>(0, 10);
  const double warmup = *moderate();
  for (const Schedule& schedule : schedules) {
    RC_ASSERT(schedule.at(now) >= 0);
    RC_ASSERT(schedule.at(now) <= rate * (1 + 1e-15));
    RC_ASSERT(schedule.at(later) <= schedule.at(now) * (1 + 1e-12));
    RC_ASSERT(schedule.with_warmup(warmup).at(now) <= schedule.at(now));
    RC_ASSERT(!(schedule.with_warmup(0.5) == schedule));
  }
}

// Text that has lost its end, or one character, is either read as what it says or refused with
// std::invalid_argument; nothing else happens.
RC_GTEST_PROP(ScheduleProperty, damaged_text_is_read_or_refused, ()) {
  std::string text = any_schedule(moderate()).to_string();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text.erase(at, 1);
      break;
    default:
      text[at] = *rc::gen::character<char>();
  }
  try {
    const Schedule schedule = Schedule::parse(text);
    RC_ASSERT(Schedule::parse(schedule.to_string()) == schedule);
  } catch (const Invalid& error) {
    RC_ASSERT(!std::string(error.what()).empty());
  }
}

TEST(ScheduleText, is_as_documented) {
  const auto is = [](const Schedule& schedule, const char* text) {
    EXPECT_EQ(schedule.to_string(), text);
    EXPECT_TRUE(Schedule::parse(text) == schedule) << text;
  };
  is(0.1, "0.1");
  is(Schedule::exponential_epochs(0.1, 0.95), "0.1*0.95^epoch");
  is(Schedule::exponential_steps(0.1, 0.95, 1000), "0.1*0.95^(t/1000)");
  is(Schedule::inverse(5, 100), "5/(t+100)");
  is(Schedule::inverse(5, 100, 2), "5/(t+100)^2");
  is(Schedule::cosine_steps(0.1, 1000), "0.1*cosine(t/1000)");
  is(Schedule::cosine_steps(0.1, 1000, 0.01), "0.1*cosine(t/1000, 0.01)");
  is(Schedule::cosine_epochs(0.1, 20), "0.1*cosine(epoch/20)");
  is(Schedule(0.1).with_warmup(100), "warmup(100)*0.1");
  is(Schedule::inverse(5, 100, 2).with_warmup(7), "warmup(7)*5/(t+100)^2");
}

TEST(ScheduleText, ends_of_the_cosine) {
  const Schedule schedule = Schedule::parse("0.1*cosine(t/1000)");
  EXPECT_DOUBLE_EQ(schedule.at({.step = 1}), 0.1);
  EXPECT_NEAR(schedule.at({.step = 501}), 0.05, 1e-15);
  EXPECT_NEAR(schedule.at({.step = 1001}), 0, 1e-17);
  EXPECT_NEAR(schedule.at({.step = 5000}), 0, 1e-17);
  EXPECT_DOUBLE_EQ(Schedule::parse("0.1*cosine(epoch/20, 0.01)").at({.epoch = 30}), 0.001);
}

TEST(ScheduleText, malformed_is_refused_and_quoted) {
  for (const char* text : {"",
                           " ",
                           "fast",
                           "0.1x",
                           "0.1*",
                           "*0.1",
                           "0.1*0.95",
                           "0.1*0.95^",
                           "0.1*0.95^epochs",
                           "0.1*0.95^t",
                           "0.1*0.95^(t/)",
                           "0.1*0.95^(t/1000",
                           "5/",
                           "5/(t",
                           "5/(t+100",
                           "5/(t+100)^3",
                           "5/(t+100)^",
                           "5/(e+100)",
                           "0.1*cosine",
                           "0.1*cosine()",
                           "0.1*cosine(t)",
                           "0.1*cosine(t/1000",
                           "0.1*cosine(t/10,",
                           "0.1*cosine(s/10)",
                           "warmup(100)",
                           "warmup(100)*",
                           "warmup()*0.1",
                           "warmup(x)*0.1",
                           "0.1 0.2",
                           "0.1*0.95^epoch junk",
                           "1e999",
                           "0x10",
                           "--1",
                           "1e",
                           "."})
    EXPECT_TRUE(throws_saying<Invalid>([&] { Schedule::parse(text); }, {text})) << text;
}

// What can be read but not be is refused by what it is.
TEST(ScheduleText, impossible_values_are_refused_and_named) {
  const auto refused = [](const char* text, const std::vector<std::string>& fragments) {
    EXPECT_TRUE(throws_saying<Invalid>([&] { Schedule::parse(text); }, fragments)) << text;
  };
  refused("0.1*0.95^(t/0)", {"steps", "0"});
  refused("0.1*0.95^(t/-5)", {"steps", "-5"});
  refused("0.1*-0.95^epoch", {"factor", "-0.95"});
  refused("0.1*cosine(t/0)", {"steps", "0"});
  refused("0.1*cosine(epoch/-1)", {"epochs", "-1"});
  refused("0.1*cosine(t/10, -2)", {"-2"});
  refused("warmup(-1)*0.1", {"warm-up", "-1"});
  refused("5/(t-1)", {"offset", "-1"});
  refused("5/(t-100)", {"offset", "-100"});
  refused("warmup(0)*0.1", {"warm-up", "0"});
  refused("0.1*1e300^epoch", {"factor", "1e+300", "epoch", "10-fold"});
  refused("0.1*11^epoch", {"factor", "11", "10-fold"});
  refused("0.1*2^(t/0.1)", {"factor", "2", "step", "10-fold"});
}

// Range tests are what growing rates are for.
TEST(ScheduleText, rates_may_grow) {
  EXPECT_DOUBLE_EQ(Schedule::parse("1*1.05^epoch").at({.epoch = 2}), 1.1025);
  EXPECT_DOUBLE_EQ(Schedule::parse("1e-7*1e8^(t/1000)").at({.step = 1000}), 10);
  EXPECT_DOUBLE_EQ(Schedule::parse("0*10^epoch").at({.epoch = 5000}), 0);
}

// ---- Rates without end --------------------------------------------------------------------------

/// A rule with a rate that grows, and how its message shows that rate.
struct Growing {
  std::unique_ptr<Optimizer> optimizer;
  std::string text;
  std::function<double(const Clock&)> value;
};

Growing any_growing() {
  const double rate = *moderate(), factor = 2 + 8 * *fraction();
  const Schedule grows = Schedule::exponential_epochs(rate, factor);
  const auto value = [=](const Clock& clock) { return grows.at(clock); };
  const std::string text = grows.to_string();
  const std::size_t size = *rc::gen::inRange<std::size_t>(1, 9);
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return {std::make_unique<Adam>(size, AdamOptions{.lr = grows}), "lr = " + text, value};
    case 1:
      return {std::make_unique<DiagonalTO>(size, DiagonalTOOptions{.alpha = grows}),
              "alpha = " + text, value};
    case 2:
      return {std::make_unique<FullTO>(size, FullTOOptions{.beta = grows}), "beta = " + text,
              value};
    case 3:
      return {std::make_unique<SGD>(std::vector<SegmentSpec>{{.size = size, .lr = grows}},
                                    SGDOptions{.lr = 0.1}),
              "lr = " + text + " of segment 0", value};
    default:
      return {std::make_unique<RankOneTO>(
                  size, RankOneTOOptions{.lr = rate, .alpha = 0, .beta = 0, .decay = factor}),
              "lr = " + Schedule(rate).to_string() + " times", value};
  }
}

// Weights of 0 and gradients of 0 let them grow in peace. The step whose rate the weights cannot
// take says so, and changes nothing.
template <class T>
void stops_at_the_step_whose_rate_is_not_finite() {
  const Growing growing = any_growing();
  Optimizer& optimizer = *growing.optimizer;
  std::vector<T> w(optimizer.dimension()), g(optimizer.dimension());
  while (std::isfinite(static_cast<T>(growing.value(optimizer.clock())))) {
    optimizer.step(std::span<T>(w), std::span<const T>(g));
    optimizer.epoch_end();
  }
  const std::string before = saved(optimizer);
  const Clock clock = optimizer.clock();
  for (int again = 0; again < 2; ++again) {
    RC_ASSERT(throws_saying<NonFiniteRate>(
        [&] { optimizer.step(std::span<T>(w), std::span<const T>(g)); },
        {growing.text, "step " + std::to_string(clock.step),
         "epoch " + std::to_string(clock.epoch)}));
    RC_ASSERT(saved(optimizer) == before);
    RC_ASSERT(w == std::vector<T>(w.size()));
  }
}

RC_GTEST_PROP(RateProperty, stops_where_it_is_not_finite_in_float, ()) {
  stops_at_the_step_whose_rate_is_not_finite<float>();
}
RC_GTEST_PROP(RateProperty, stops_where_it_is_not_finite_in_double, ()) {
  stops_at_the_step_whose_rate_is_not_finite<double>();
}

// Numbers that double holds and float does not, in options that are not schedules.
TEST(Options, beyond_float_are_refused_by_the_step) {
  const auto refused = [](const OptionMap& options, const std::vector<std::string>& fragments) {
    const auto optimizer = make_optimizer("sgd", 3, options);
    std::vector<float> w = {1, 2, 3};
    const std::vector<float> before = w, g(3, 0.5F);
    EXPECT_TRUE(throws_saying<NonFiniteRate>([&] { optimizer->step(w, g); }, fragments));
    EXPECT_EQ(w, before);
    std::vector<double> wide(3, 1);
    EXPECT_NO_THROW(optimizer->step(wide, std::vector<double>(3, 0.5)));
  };
  refused({{"lr", "1e200"}}, {"lr = 1e+200", "step 1", "float"});
  refused({{"l2", "1e200"}}, {"l2", "float"});
  refused({{"lr", "1e30"}, {"weight_decay", "1e30"}}, {"weight_decay", "1e+30", "lr = 1e+30"});
  refused({{"projection", "box(1e200, 1e201)"}}, {"box", "1e+200"});
  DiagonalTO started(2, {.lr = 0.1, .initial_a = {1, 1e200}});
  std::vector<float> w(2), g(2);
  EXPECT_TRUE(throws_saying<Invalid>([&] { started.step(w, g); }, {"initial_a", "1e+200"}));
  Adagrad summed(2, {.lr = 0.1, .initial_accumulator = 1e200});
  EXPECT_TRUE(throws_saying<Invalid>([&] { summed.step(w, g); }, {"initial_accumulator"}));
  EXPECT_THROW(Projection::parse("box(inf, inf)"), Invalid);
  EXPECT_THROW(Projection::parse("box(-inf, -inf)"), Invalid);
  EXPECT_NO_THROW(Projection::parse("box(-inf, inf)"));
  EXPECT_TRUE(throws_saying<Invalid>([] { SGD(1, {.lr = 1, .decay = 1e300}); }, {"decay", "10"}));
}

// ---- Projections --------------------------------------------------------------------------------

Projection any_projection(const rc::Gen<double>& size) {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return Projection::none();
    case 1:
      return Projection::ball(*size);
    default: {
      const double low = *size * (*rc::gen::arbitrary<bool>() ? 1 : -1);
      return Projection::box(low, low + *size);
    }
  }
}

RC_GTEST_PROP(ProjectionProperty, text_comes_back_to_the_bit, ()) {
  const Projection projection = any_projection(moderate());
  RC_ASSERT(Projection::parse(projection.to_string()) == projection);
}

// A step without a gradient is the projection alone: it puts weights into the set and, once more,
// leaves them where they are.
RC_GTEST_PROP(ProjectionProperty, is_idempotent, ()) {
  const Projection projection = any_projection(moderate());
  const auto size = *rc::gen::inRange<std::size_t>(1, 40);
  std::vector<float> w(size);
  for (float& value : w)
    value = static_cast<float>(*moderate()) * (*rc::gen::arbitrary<bool>() ? 1 : -1);
  const std::vector<float> before = w, g(size);
  SGD optimizer(size, {.lr = 0.5, .projection = projection});
  optimizer.step(w, g);
  const std::vector<float> once = w;
  optimizer.step(w, g);
  double norm = 0, norm_before = 0;
  for (std::size_t i = 0; i < size; ++i) {
    norm += static_cast<double>(once[i]) * once[i];
    norm_before += static_cast<double>(before[i]) * before[i];
  }
  norm = std::sqrt(norm);
  norm_before = std::sqrt(norm_before);
  switch (projection.kind()) {
    case Projection::Kind::none:
      RC_ASSERT(once == before);
      break;
    case Projection::Kind::box:
      RC_ASSERT(w == once);
      for (std::size_t i = 0; i < size; ++i)
        RC_ASSERT(once[i] == std::clamp(before[i], static_cast<float>(projection.low()),
                                        static_cast<float>(projection.high())));
      break;
    case Projection::Kind::ball:
      RC_ASSERT(norm <= projection.radius() * (1 + 1e-6));
      if (norm_before < projection.radius() * (1 - 1e-6)) RC_ASSERT(once == before);
      if (norm_before > projection.radius()) RC_ASSERT(norm >= projection.radius() * (1 - 1e-6));
      for (std::size_t i = 0; i < size; ++i)
        RC_ASSERT(std::abs(w[i] - once[i]) <= 1e-6f * std::abs(once[i]));
  }
}

TEST(ProjectionText, is_as_documented) {
  EXPECT_EQ(Projection().to_string(), "none");
  EXPECT_EQ(Projection::ball(10).to_string(), "ball(10)");
  EXPECT_EQ(Projection::box(-1, 1).to_string(), "box(-1, 1)");
  EXPECT_TRUE(Projection::parse("none") == Projection::none());
  EXPECT_TRUE(Projection::parse("ball(10)") == Projection::ball(10));
  EXPECT_TRUE(Projection::parse("box(-1, 1)") == Projection::box(-1, 1));
  EXPECT_TRUE(Projection::parse("box(-1,1)") == Projection::box(-1, 1));
}

TEST(ProjectionText, malformed_is_refused_and_quoted) {
  for (const char* text :
       {"", "nothing", "ball", "ball()", "ball(", "ball(1", "ball(x)", "ball(1, 2)",
        "ball(1) ball(2)", "box(1)", "box(-1, 1", "box(, 1)", "circle(1)", "none(1)"})
    EXPECT_TRUE(throws_saying<Invalid>([&] { Projection::parse(text); }, {text})) << text;
  EXPECT_TRUE(throws_saying<Invalid>([] { Projection::parse("ball(-1)"); }, {"radius", "-1"}));
  EXPECT_TRUE(
      throws_saying<Invalid>([] { Projection::parse("ball(nan)"); }, {"ball(nan)", "number"}));
  EXPECT_TRUE(throws_saying<Invalid>([] { Projection::parse("box(1, -1)"); }, {"box", "1", "-1"}));
  EXPECT_TRUE(throws_saying<Invalid>([] { Projection::parse("box(nan, 1)"); }, {"box", "nan"}));
  EXPECT_THROW(Projection::ball(-1), Invalid);
  EXPECT_THROW(Projection::ball(std::numeric_limits<double>::quiet_NaN()), Invalid);
  EXPECT_THROW(Projection::box(1, -1), Invalid);
}

}  // namespace
}  // namespace tandem::testing
