// SPDX-License-Identifier: MIT
// What users get wrong: sizes, types, names, values. Each is refused with std::invalid_argument
// that names the thing, and a refused step changes nothing.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/battery.h"

namespace tandem::testing {
namespace {

using Invalid = std::invalid_argument;

std::string text_of(const OptionMap& options) {
  std::string text;
  for (const auto& [name, value] : options) text += name + "=" + value + " ";
  return text;
}

class Errors : public Battery {};

TEST_P(Errors, bad_options_are_named) {
  for (const ErrorInput& error : it().errors) {
    EXPECT_TRUE(throws_saying<Invalid>([&] { make_optimizer(it().name, 4, error.options); },
                                       error.fragments))
        << text_of(error.options);
    const std::vector<SegmentSpec> segments = {{.size = 3}, {.size = 1}};
    EXPECT_TRUE(throws_saying<Invalid>([&] { make_optimizer(it().name, segments, error.options); },
                                       error.fragments))
        << text_of(error.options);
  }
}

TEST_P(Errors, no_dimension) {
  EXPECT_TRUE(throws_saying<Invalid>([&] { make_optimizer(it().name, 0); }, {"dimension"}));
  EXPECT_THROW(make_optimizer(it().name, std::vector<SegmentSpec>{}), Invalid);
  EXPECT_THROW(make_optimizer(it().name, std::vector<SegmentSpec>{{.size = 0}}), Invalid);
}

TEST_P(Errors, bad_options_of_a_segment) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, nan, inf}) {
    EXPECT_TRUE(throws_saying<Invalid>(
        [&] {
          make_optimizer(it().name, {SegmentSpec{.size = 3}, SegmentSpec{.size = 2, .lr = bad}});
        },
        {"lr", "1"}))
        << bad;
    EXPECT_TRUE(throws_saying<Invalid>(
        [&] {
          make_optimizer(it().name,
                         {SegmentSpec{.size = 3}, SegmentSpec{.size = 2, .weight_decay = bad}});
        },
        {"weight_decay", "1"}))
        << bad;
  }
}

TEST_P(Errors, wrong_sizes_change_nothing) {
  const std::size_t d = 7;
  const problems::Quadratic problem = bowl_for(it(), d);
  const auto optimizer = make(it(), it().sets[0], d);
  Model<float> model(one_part(d), problem.start());
  for (int steps = 0; steps <= 3; steps += 3) {
    if (steps > 0) advance(*optimizer, model, problem, 1, steps);
    const std::string before = saved(*optimizer);
    std::vector<float> w = model.weights(), g(d, 0.5f), short_g(d - 1, 0.5f), long_g(d + 1, 0.5f);
    const std::vector<float> w_before = w;
    EXPECT_TRUE(throws_saying<Invalid>([&] { optimizer->step(w, short_g); }, {"7", "6"}));
    EXPECT_TRUE(throws_saying<Invalid>([&] { optimizer->step(w, long_g); }, {"7", "8"}));
    EXPECT_TRUE(throws_saying<Invalid>(
        [&] { optimizer->step(std::span(w).first(5), std::span<const float>(g).first(5)); },
        {"7", "5"}));
    EXPECT_THROW(optimizer->step(std::span<float>(), std::span<const float>()), Invalid);
    EXPECT_TRUE(same_bits(w, w_before));
    EXPECT_TRUE(saved(*optimizer) == before);
  }
}

TEST_P(Errors, wrong_segments_change_nothing) {
  const std::vector<SegmentSpec> specs = {{.size = 4}, {.size = 3}};
  const auto optimizer = make(it(), it().sets[0], specs);
  std::vector<double> w(9, 0.1), g(9, 0.5);
  const std::span<double> ws(w);
  const std::span<const double> gs(g);
  using Parts = std::vector<Segment<double>>;
  const Parts right = {{ws.first(4), gs.first(4)}, {ws.subspan(4, 3), gs.subspan(4, 3)}};
  optimizer->step(right);
  const std::vector<double> w_before = w;
  const std::string before = saved(*optimizer);
  const Parts swapped = {{ws.first(3), gs.first(3)}, {ws.subspan(3, 4), gs.subspan(3, 4)}};
  const Parts one_less = {right[0]};
  Parts one_more = right;
  one_more.push_back({ws.subspan(7, 2), gs.subspan(7, 2)});
  const Parts uneven = {right[0], {ws.subspan(4, 3), gs.subspan(4, 2)}};
  for (const Parts& wrong : {swapped, one_less, one_more, uneven, Parts{}}) {
    EXPECT_THROW(optimizer->step(wrong), Invalid);
    EXPECT_TRUE(same_bits(w, w_before));
    EXPECT_TRUE(saved(*optimizer) == before);
  }
  EXPECT_TRUE(throws_saying<Invalid>([&] { optimizer->step(uneven); }, {"segment 1", "3", "2"}));
}

TEST_P(Errors, another_type_changes_nothing) {
  const auto optimizer = make(it(), it().sets[0], 3);
  std::vector<float> w(3, 0.1f), g(3, 0.5f);
  std::vector<double> w2(3, 0.1), g2(3, 0.5);
  optimizer->step(w, g);
  const std::string before = saved(*optimizer);
  EXPECT_TRUE(throws_saying<Invalid>([&] { optimizer->step(w2, g2); }, {"float", "double"}));
  EXPECT_EQ(w2, std::vector<double>(3, 0.1));
  EXPECT_TRUE(saved(*optimizer) == before);
  EXPECT_NO_THROW(optimizer->step(w, g));
}

// The structs are checked as the texts are.
TEST_P(Errors, bad_rates_to_set_lr) {
  const auto optimizer = make(it(), it().sets[0], 3);
  for (const double bad :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_TRUE(throws_saying<Invalid>([&] { optimizer->set_lr(bad); }, {"lr"})) << bad;
}

INSTANTIATE_TEST_SUITE_P(records, Errors, ::testing::ValuesIn(record_names()), name_of);

template <class Class, class Options>
void expect_checked(Options options, const char* name) {
  const Options good = options;
  for (const double bad :
       {-0.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    options = good;
    options.lr = bad;
    EXPECT_TRUE(throws_saying<Invalid>([&] { Class(3, options); }, {"lr"})) << name << " " << bad;
    options = good;
    options.l2 = bad;
    EXPECT_TRUE(throws_saying<Invalid>([&] { Class(3, options); }, {"l2"})) << name << " " << bad;
    options = good;
    options.weight_decay = bad;
    EXPECT_TRUE(throws_saying<Invalid>([&] { Class(3, options); }, {"weight_decay"}))
        << name << " " << bad;
    options = good;
    options.decay = bad;
    EXPECT_TRUE(throws_saying<Invalid>([&] { Class(3, options); }, {"decay"}))
        << name << " " << bad;
    if constexpr (requires { options.alpha; }) {
      options = good;
      options.alpha = bad;
      EXPECT_TRUE(throws_saying<Invalid>([&] { Class(3, options); }, {"alpha"}))
          << name << " " << bad;
      options = good;
      options.beta = bad;
      EXPECT_TRUE(throws_saying<Invalid>([&] { Class(3, options); }, {"beta"}))
          << name << " " << bad;
    }
  }
  EXPECT_THROW(Class(0, good), Invalid) << name;
  EXPECT_NO_THROW(Class(3, good)) << name;
}

TEST(OptionStructs, are_checked) {
  expect_checked<FullTO>(FullTOOptions{}, "FullTO");
  expect_checked<DiagonalTO>(DiagonalTOOptions{}, "DiagonalTO");
  expect_checked<RankOneTO>(RankOneTOOptions{}, "RankOneTO");
  expect_checked<BlockTO>(BlockTOOptions{}, "BlockTO");
  expect_checked<AdamTO>(AdamTOOptions{}, "AdamTO");
  expect_checked<SGD>(SGDOptions{}, "SGD");
  expect_checked<Momentum>(MomentumOptions{}, "Momentum");
  expect_checked<Nesterov>(NesterovOptions{}, "Nesterov");
  expect_checked<Adagrad>(AdagradOptions{}, "Adagrad");
  expect_checked<RMSProp>(RMSPropOptions{}, "RMSProp");
  expect_checked<Adam>(AdamOptions{}, "Adam");
  expect_checked<AdamW>(AdamWOptions{}, "AdamW");
  expect_checked<Lion>(LionOptions{}, "Lion");
}

TEST(OptionStructs, starting_values_of_a_wrong_size_are_named) {
  const std::vector<double> four(4, 0.1);
  const auto refused = [](auto make_it, const char* name) {
    EXPECT_TRUE(throws_saying<Invalid>(make_it, {name, "4"})) << name;
  };
  refused([&] { FullTO(3, {.initial_A = four}); }, "initial_A");
  refused([&] { FullTO(3, {.initial_b = four}); }, "initial_b");
  refused([&] { DiagonalTO(3, {.initial_a = four}); }, "initial_a");
  refused([&] { DiagonalTO(3, {.initial_b = four}); }, "initial_b");
  refused([&] { RankOneTO(3, {.initial_a = four}); }, "initial_a");
  refused([&] { RankOneTO(3, {.initial_c = four}); }, "initial_c");
  refused([&] { RankOneTO(3, {.initial_b = four}); }, "initial_b");
  const std::vector<double> bad = {0.1, std::numeric_limits<double>::quiet_NaN(), 0.1};
  EXPECT_TRUE(throws_saying<Invalid>([&] { DiagonalTO(3, {.initial_a = bad}); }, {"initial_a"}));
}

TEST(Names, unknown_ones_come_with_a_suggestion) {
  const auto suggests = [](const char* wrong, const char* right) {
    EXPECT_TRUE(throws_saying<Invalid>([&] { make_optimizer(wrong, 3); },
                                       {wrong, std::string("'").append(right).append("'")}));
  };
  suggests("diagto", "diag-to");
  suggests("diag_to", "diag-to");
  suggests("adma", "adam");
  suggests("rmspop", "rmsprop");
  suggests("ro-too", "ro-to");
  suggests("momentun", "momentum");
  EXPECT_THROW(make_optimizer("", 3), Invalid);
  EXPECT_TRUE(throws_saying<Invalid>([&] { make_optimizer("xyzzy-42", 3); }, {"xyzzy-42"}));
}

TEST(Names, methods_say_that_they_need_a_problem) {
  for (const char* method : {"saga", "svrg", "storm", "vradam", "svrg+diag-to", "saga+adam"})
    EXPECT_TRUE(
        throws_saying<Invalid>([&] { make_optimizer(method, 3); }, {method, "needs a problem"}));
}

TEST(Names, of_options_may_have_dashes) {
  const auto dashes = make_optimizer("sgd", 1, {{"lr", "0.5"}, {"weight-decay", "0.25"}});
  std::vector<double> w = {1}, g = {0};
  dashes->step(w, g);
  EXPECT_DOUBLE_EQ(w[0], 1 - 0.5 * 0.25);
}

}  // namespace
}  // namespace tandem::testing
