// SPDX-License-Identifier: MIT
// A client in C trains with every rule on memory of its own, and gets the bits of the C++ class.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "tests/c_interface/rules.h"
#include "tests/records.h"

namespace tandem::testing {
namespace {

bool same(const tandem_diagnostics& x, const Diagnostics& y) {
  const double left[] = {x.residual_norm, x.gradient_norm, x.delta};
  const double right[] = {y.residual_norm, y.gradient_norm, y.delta};
  for (int i = 0; i < 3; ++i) {
    const bool both_nan = std::isnan(left[i]) && std::isnan(right[i]);
    if (!both_nan && left[i] != right[i]) return false;
  }
  return true;
}

class InC : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string& rule() const { return GetParam(); }
  std::vector<std::size_t> sizes() const {
    return is_whole(rule()) ? std::vector<std::size_t>{30, 1, 12, 9}
                            : std::vector<std::size_t>{5000, 1, 130, 9};
  }
  /// Moves with the epoch, which the client counts.
  Options options() const { return {{"lr", "0.01*0.7^epoch"}}; }

  Client open(const std::vector<std::size_t>& sizes, std::int32_t type,
              const Options& options) const {
    const std::vector<tandem_option> list = in_c(options);
    return Client(
        client_open(rule().c_str(), list.data(), list.size(), sizes.data(), sizes.size(), type));
  }
  std::unique_ptr<Optimizer> make(const std::vector<std::size_t>& sizes,
                                  const Options& options) const {
    return make_optimizer(rule(), specs_of(sizes), OptionMap(options.begin(), options.end()));
  }

  template <class T>
  void step(Optimizer& optimizer, Parts<T>& parts, const tandem_rounding* rounding) const {
    const std::vector<Segment<T>> list = parts.segments();
    const std::span<const Segment<T>> all(list);
    if constexpr (std::is_same_v<T, BFloat16>) {
      if (rounding != nullptr) {
        optimizer.step(all, {rounding->stochastic != 0, rounding->seed});
        return;
      }
    }
    optimizer.step(all);
  }

  /// The C++ class, a client, one that steps in two phases, and one that is resumed again and again.
  template <class T>
  void trains(const tandem_rounding* rounding) const {
    const Options how = options();
    const auto optimizer = make(sizes(), how);
    const Client plain = open(sizes(), type_in_c<T>(), how);
    const Client phases = open(sizes(), type_in_c<T>(), how);
    Client resumed = open(sizes(), type_in_c<T>(), how);
    ASSERT_NE(resumed.get(), nullptr);
    Parts<T> expected(sizes()), first(sizes()), second(sizes()), third(sizes());
    for (std::uint64_t t = 1; t <= 24; ++t) {
      if (t % 5 == 0) resumed = Client(client_resume(resumed.get()));
      for (Parts<T>* parts : {&expected, &first, &second, &third}) parts->differentiate(t);
      step(*optimizer, expected, rounding);
      ASSERT_EQ(client_step(plain.get(), first.segments_in_c().data(), rounding), TANDEM_OK)
          << tandem_v1_error();
      ASSERT_EQ(client_step_in_phases(phases.get(), second.segments_in_c().data(), rounding),
                TANDEM_OK)
          << tandem_v1_error();
      ASSERT_EQ(client_step(resumed.get(), third.segments_in_c().data(), rounding), TANDEM_OK)
          << tandem_v1_error();
      ASSERT_TRUE(expected.same_weights(first)) << "step " << t;
      ASSERT_TRUE(expected.same_weights(second)) << "in phases, step " << t;
      ASSERT_TRUE(expected.same_weights(third)) << "resumed, step " << t;
      tandem_diagnostics last;
      ASSERT_EQ(tandem_v1_last(plain.rule(), &last), TANDEM_OK);
      EXPECT_TRUE(same(last, optimizer->last())) << "step " << t;
      if (t % 8 == 0) {
        optimizer->epoch_end();
        for (const Client* one : {&plain, &phases, static_cast<const Client*>(&resumed)}) {
          client_end_epoch(one->get());
        }
      }
    }
    EXPECT_FALSE(expected.same_weights(Parts<T>(sizes())));
  }
};

TEST_P(InC, float_gives_the_bits_of_the_class) { trains<float>(nullptr); }
TEST_P(InC, double_gives_the_bits_of_the_class) { trains<double>(nullptr); }
TEST_P(InC, bfloat16_gives_the_bits_of_the_class) {
  trains<BFloat16>(nullptr);
  const tandem_rounding stochastic = {1, 0, 77};
  trains<BFloat16>(&stochastic);
}

TEST_P(InC, threads_of_its_own_give_the_same_bits) {
  const std::vector<std::size_t> large =
      is_whole(rule()) ? std::vector<std::size_t>{700, 33} : std::vector<std::size_t>{100000, 7777};
  // The dense matrix is what Full-TO has threads for.
  const Options how = rule() == "full-to"    ? Options{{"form", "dense"}, {"alpha", "1e-4"}}
                      : rule() == "block-to" ? Options{{"block", "400"}, {"alpha", "1e-4"}}
                                             : Options{};
  const auto optimizer = make(large, how);
  const Client own = open(large, TANDEM_FLOAT32, how), pool = open(large, TANDEM_FLOAT32, how);
  ASSERT_EQ(client_use_own_threads(own.get(), 3), TANDEM_OK);
  ASSERT_EQ(tandem_v1_set_threads(pool.rule(), 2, nullptr, nullptr), TANDEM_OK);
  Parts<float> expected(large), first(large), second(large);
  // Full-TO's matrix is zero until its first 64 updates are added to it.
  const std::uint64_t steps = rule() == "full-to" ? 68 : 4;
  for (std::uint64_t t = 1; t <= steps; ++t) {
    for (Parts<float>* parts : {&expected, &first, &second}) parts->differentiate(t);
    step(*optimizer, expected, nullptr);
    ASSERT_EQ(client_step(own.get(), first.segments_in_c().data(), nullptr), TANDEM_OK);
    ASSERT_EQ(client_step(pool.get(), second.segments_in_c().data(), nullptr), TANDEM_OK);
    ASSERT_TRUE(expected.same_weights(first)) << "step " << t;
    ASSERT_TRUE(expected.same_weights(second)) << "step " << t;
  }
  EXPECT_GT(client_calls_of_own_threads(own.get()), 0u);
}

TEST_P(InC, rates_and_segments_change_between_steps) {
  const auto optimizer = make(sizes(), {});
  const Client c = open(sizes(), TANDEM_FLOAT32, {});
  const bool trainable = record(rule()).trainable;
  Parts<float> expected(sizes()), parts(sizes());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::uint64_t t = 1; t <= 18; ++t) {
    const double lr = 0.02 / static_cast<double>(t);
    if (t < 6) {
      optimizer->set_lr(lr);
      ASSERT_EQ(tandem_v1_set_rate(c.rule(), "lr", lr), TANDEM_OK) << tandem_v1_error();
    } else if (t == 6) {
      optimizer->set_lr(Schedule::parse("0.3/(t+50)"));
      ASSERT_EQ(tandem_v1_set_schedule(c.rule(), "lr", "0.3/(t+50)"), TANDEM_OK);
    }
    if (trainable && t == 8) {
      optimizer->set_rate("alpha", 1e-4);
      optimizer->set_rate("beta", Schedule::parse("0.2*0.9^(t/10)"));
      ASSERT_EQ(tandem_v1_set_rate(c.rule(), "alpha", 1e-4), TANDEM_OK) << tandem_v1_error();
      ASSERT_EQ(tandem_v1_set_schedule(c.rule(), "beta", "0.2*0.9^(t/10)"), TANDEM_OK);
    }
    if (rule() != "full-to" && t == 10) {  // which must know at the start
      optimizer->set_segment(2, {sizes()[2], 0.03, 0.1});
      optimizer->set_segment(0, {sizes()[0], std::nullopt, 0.2});
      ASSERT_EQ(tandem_v1_set_segment(c.rule(), 2, 0.03, 0.1), TANDEM_OK) << tandem_v1_error();
      ASSERT_EQ(tandem_v1_set_segment(c.rule(), 0, nan, 0.2), TANDEM_OK);
    }
    if (rule() != "full-to" && t == 14) {
      optimizer->set_segment(2, {sizes()[2]});
      ASSERT_EQ(tandem_v1_set_segment(c.rule(), 2, nan, nan), TANDEM_OK);
    }
    if (t == 12) {
      optimizer->set_decay("weight_decay", 0.3);
      optimizer->set_decay("l2", 0.01);
      ASSERT_EQ(tandem_v1_set_rate(c.rule(), "weight_decay", 0.3), TANDEM_OK);
      ASSERT_EQ(tandem_v1_set_rate(c.rule(), "l2", 0.01), TANDEM_OK);
    }
    if (t == 16) {
      std::vector<SegmentSpec> specs = specs_of(sizes());
      if (rule() != "full-to") specs[0].weight_decay = 0.2;
      optimizer->set_options(specs, {{"lr", "0.04"}});
      const tandem_option other[] = {{"lr", "0.04"}};
      ASSERT_EQ(tandem_v1_set_options(c.rule(), other, 1), TANDEM_OK) << tandem_v1_error();
    }
    expected.differentiate(t);
    parts.differentiate(t);
    step(*optimizer, expected, nullptr);
    ASSERT_EQ(client_step(c.get(), parts.segments_in_c().data(), nullptr), TANDEM_OK);
    ASSERT_TRUE(expected.same_weights(parts)) << "step " << t;
  }
}

/// A machine that has the second half of the weights rounds them as the one that has all.
TEST_P(InC, noise_of_rounding_knows_the_place_of_a_shard) {
  if (is_whole(rule()) || rule() == "ro-to") GTEST_SKIP() << rule() << " is not elementwise";
  constexpr std::size_t kAll = 9000;
  constexpr std::size_t kFirst = 4500;  // in the middle of a block
  const Client whole = open({kAll}, TANDEM_BFLOAT16, options());
  const Client half = open({kAll - kFirst}, TANDEM_BFLOAT16, options());
  ASSERT_EQ(tandem_v1_set_first_element(half.rule(), 0, kFirst), TANDEM_OK) << tandem_v1_error();
  Parts<BFloat16> all({kAll}), part({kAll - kFirst});
  std::copy(all.weights[0].begin() + kFirst, all.weights[0].end(), part.weights[0].begin());
  const tandem_rounding rounding = {1, 0, 77};
  for (std::uint64_t t = 1; t <= 10; ++t) {
    all.differentiate(t);
    std::copy(all.gradients[0].begin() + kFirst, all.gradients[0].end(), part.gradients[0].begin());
    ASSERT_EQ(client_step(whole.get(), all.segments_in_c().data(), &rounding), TANDEM_OK);
    ASSERT_EQ(client_step(half.get(), part.segments_in_c().data(), &rounding), TANDEM_OK);
    for (std::size_t i = 0; i < kAll - kFirst; ++i) {
      ASSERT_EQ(all.weights[0][kFirst + i].bits, part.weights[0][i].bits) << t << " " << i;
    }
  }
}

TEST(Schedules, values_by_step_and_epoch) {
  double value = 0;
  ASSERT_EQ(tandem_v1_schedule("0.1*0.5^epoch", 7, 3, &value), TANDEM_OK) << tandem_v1_error();
  EXPECT_DOUBLE_EQ(value, 0.1 / 8);
  ASSERT_EQ(tandem_v1_schedule("5/(t+100)", 25, 0, &value), TANDEM_OK);
  EXPECT_DOUBLE_EQ(value, 0.04);
}

TEST_P(InC, segments_without_gradient_are_left_out) {
  const auto optimizer = make(sizes(), {});
  const Client c = open(sizes(), TANDEM_FLOAT64, {});
  Parts<double> expected(sizes()), parts(sizes());
  for (std::uint64_t t = 1; t <= 6; ++t) {
    expected.differentiate(t);
    parts.differentiate(t);
    std::vector<Segment<double>> list = expected.segments();
    std::vector<tandem_segment> in_c = parts.segments_in_c();
    if (t % 2 == 0) list[2].gradient = {};
    if (t % 2 == 0) in_c[2].gradient = nullptr;
    if (t % 2 == 0 && is_whole(rule())) {
      EXPECT_EQ(client_step(c.get(), in_c.data(), nullptr), TANDEM_INVALID);
      EXPECT_NE(std::string(tandem_v1_error()).find("segment 2"), std::string::npos);
      continue;
    }
    optimizer->step(list);
    ASSERT_EQ(client_step(c.get(), in_c.data(), nullptr), TANDEM_OK) << tandem_v1_error();
    ASSERT_TRUE(expected.same_weights(parts)) << "step " << t;
  }
}

/// Empty shards: no elements, null pointers.
TEST_P(InC, empty_segments_change_nothing) {
  std::vector<std::size_t> with;
  for (const std::size_t size : sizes()) with.insert(with.end(), {0, size, 0});
  const auto optimizer = make(sizes(), {});
  const Client c = open(with, TANDEM_FLOAT32, {});
  Parts<float> expected(sizes()), parts(sizes());
  for (std::uint64_t t = 1; t <= 12; ++t) {
    expected.differentiate(t);
    parts.differentiate(t);
    step(*optimizer, expected, nullptr);
    std::vector<tandem_segment> in_c;
    for (const tandem_segment& segment : parts.segments_in_c()) {
      in_c.insert(in_c.end(), {{nullptr, nullptr, 0}, segment, {nullptr, nullptr, 0}});
    }
    ASSERT_EQ(client_make_room(c.get()), TANDEM_OK) << tandem_v1_error();
    for (std::size_t i = 0; i < client_array_count(c.get()); ++i) {
      // The state of an empty segment may have no memory either.
      const tandem_array& array = client_arrays(c.get())[i];
      for (std::size_t p = 0; p < array.parts; ++p) {
        if (array.counts[p] > 0) continue;
        std::free(array.data[p]);
        const_cast<void**>(array.data)[p] = nullptr;
      }
    }
    ASSERT_EQ(client_step(c.get(), in_c.data(), nullptr), TANDEM_OK) << tandem_v1_error();
    ASSERT_TRUE(expected.same_weights(parts)) << "step " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(rules, InC, ::testing::ValuesIn(rules_in_c()),
                         [](const auto& rule) { return test_name(rule.param); });

TEST(FullInC, grows_and_goes_dense) {
  const std::vector<std::size_t> sizes = {400, 120};
  const Options how = {{"lr", "0.02"}, {"alpha", "1e-4"}, {"beta", "0.2"}};
  FullTO optimizer(specs_of(sizes), {.lr = 0.02, .alpha = 1e-4, .beta = 0.2});
  Client c(client_open("full-to", in_c(how).data(), how.size(), sizes.data(), sizes.size(),
                       TANDEM_FLOAT32));
  Parts<float> expected(sizes), parts(sizes);
  std::uint64_t dense_since = 0;
  std::size_t most_parts = 0;
  for (std::uint64_t t = 1; t <= 700 && (dense_since == 0 || t < dense_since + 100); ++t) {
    if (t % 50 == 0) c = Client(client_resume(c.get()));
    expected.differentiate(t);
    parts.differentiate(t);
    optimizer.step(std::span<const Segment<float>>(expected.segments()));
    ASSERT_EQ(client_step(c.get(), parts.segments_in_c().data(), nullptr), TANDEM_OK)
        << tandem_v1_error();
    ASSERT_TRUE(expected.same_weights(parts)) << "step " << t;
    if (dense_since == 0 && optimizer.form() == Form::dense) dense_since = t;
    for (std::size_t i = 0; i < client_array_count(c.get()); ++i) {
      most_parts = std::max(most_parts, client_arrays(c.get())[i].parts);
    }
  }
  EXPECT_GT(dense_since, 100u);
  EXPECT_GT(most_parts, 8u);
}

TEST(DescribeInC, knows_every_rule_and_cuts_short_buffers) {
  EXPECT_EQ(rules_in_c(), record_names());
  EXPECT_EQ(described("adam")["name"], "adam");
  std::size_t needed = 0;
  char buffer[12];
  std::memset(buffer, '#', sizeof buffer);
  ASSERT_EQ(tandem_v1_describe("adam", buffer, 8, &needed), TANDEM_OK);
  EXPECT_EQ(std::strlen(buffer), 7u);
  EXPECT_EQ(buffer[8], '#');
  EXPECT_GT(needed, 100u);
  EXPECT_STREQ(tandem_v1_version(), version());
}

TEST(DocsOfC, have_the_example) {
  const auto text_of = [](const std::string& path) {
    std::ifstream in(std::string(TANDEM_SOURCE_DIR) + path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string example = text_of("/examples/c_client.c");
  const std::size_t begin = example.find("static void check");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_NE(text_of("/docs/c.md").find("```c\n" + example.substr(begin) + "```"), std::string::npos)
      << "docs/c.md shows another examples/c_client.c";
}

}  // namespace
}  // namespace tandem::testing
