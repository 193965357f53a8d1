// SPDX-License-Identifier: MIT
// Passes on bfloat16 state against the float pass, whose own twin is in pass_test.cc: the same step
// on the widened state, then the state rounded.
#include "kernels/narrow_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/narrow.h"
#include "kernels/test_targets.h"

namespace tandem::kernels {
namespace {

constexpr EstimatorStage kEstimators[] = {EstimatorStage::identity, EstimatorStage::average,
                                          EstimatorStage::diagonal,
                                          EstimatorStage::diagonal_normalized};
constexpr ScalingStage kScalings[] = {ScalingStage::none, ScalingStage::second_moment,
                                      ScalingStage::sign};

float value(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

/// All streams, with one element more than a pass may touch.
struct Arrays {
  std::vector<float> weights, gradient, estimate;
  std::vector<BFloat16> first, second, moment;

  explicit Arrays(std::size_t count)
      : weights(random_values<float>(count + 1, 1)),
        gradient(random_values<float>(count + 1, 2)),
        estimate(count + 1),
        first(narrowed(count + 1, 4)),
        second(narrowed(count + 1, 5)),
        moment(narrowed(count + 1, 7)) {
    for (BFloat16& v : moment) v.bits &= 0x7FFF;
  }
  static std::vector<BFloat16> narrowed(std::size_t count, unsigned seed) {
    const auto values = random_values<float>(count, seed);
    std::vector<BFloat16> narrowed(count);
    narrow(values.data(), count, narrowed.data());
    return narrowed;
  }
  NarrowStreams streams(std::size_t at) {
    return {weights.data() + at, gradient.data() + at, first.data() + at,
            second.data() + at,  moment.data() + at,   estimate.data() + at};
  }
};

bool same(const std::vector<BFloat16>& x, const std::vector<BFloat16>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](BFloat16 a, BFloat16 b) { return a.bits == b.bits; });
}
void expect_same(const Arrays& x, const Arrays& y) {
  EXPECT_EQ(x.weights, y.weights);
  EXPECT_EQ(x.estimate, y.estimate);
  EXPECT_TRUE(same(x.first, y.first));
  EXPECT_TRUE(same(x.second, y.second));
  EXPECT_TRUE(same(x.moment, y.moment));
}

PassScalars<float> scalars() {
  PassScalars<float> k;
  k.lr = 0.1F;
  k.shrink = 0.99F;
  k.l2 = 0.05F;
  k.keep = 0.9F;
  k.take = 0.2F;
  k.out_new = 1.5F;
  k.out_old = 0.25F;
  k.out_g = -0.5F;
  k.alpha = 0.3F;
  k.beta = 0.4F;
  k.eps = 0.01F;
  k.v_keep = 0.95F;
  k.v_take = 0.05F;
  k.v_root = 1.25F;
  k.v_eps = 0.001F;
  return k;
}

/// The upper half of x, or the next one.
void expect_neighbour(BFloat16 rounded, float x) {
  const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
  const bool exact = (std::bit_cast<std::uint32_t>(x) & 0xFFFFU) == 0;
  EXPECT_TRUE(rounded.bits == below || (!exact && rounded.bits == below + 1))
      << x << " became " << value(rounded);
}

void check(EstimatorStage estimator, ScalingStage scaling, std::size_t size, std::size_t shift,
           bool stochastic) {
  SCOPED_TRACE(testing::Message() << "estimator " << static_cast<int>(estimator) << " scaling "
                                  << static_cast<int>(scaling) << " size " << size);
  const Arrays before(size + shift);
  Arrays after = before;
  PassSums sums;
  narrow_pass(estimator, scaling)(after.streams(shift), scalars(), {stochastic, 77, 1000}, size,
                                  &sums);

  const std::size_t all = size + shift + 1;
  Arrays wide = before;
  std::vector<float> first(all), second(all), moment(all);
  widen(before.first.data(), all, first.data());
  widen(before.second.data(), all, second.data());
  widen(before.moment.data(), all, moment.data());
  PassStreams<float> streams;
  streams.weights = wide.weights.data() + shift;
  streams.gradient = wide.gradient.data() + shift;
  streams.first = first.data() + shift;
  streams.second = second.data() + shift;
  streams.moment = moment.data() + shift;
  streams.estimate = wide.estimate.data() + shift;
  PassSums expected;
  kernels<float>().pass(estimator, scaling)(streams, scalars(), size, &expected);

  // The same bits: only what is kept is rounded.
  EXPECT_EQ(after.weights, wide.weights);
  EXPECT_EQ(after.estimate, wide.estimate);
  EXPECT_EQ(after.gradient, before.gradient);
  EXPECT_EQ(sums.residual2, expected.residual2);
  EXPECT_EQ(sums.gradient2, expected.gradient2);
  EXPECT_EQ(sums.delta, expected.delta);
  if (stochastic) {
    for (std::size_t i = 0; i < all; ++i) {
      expect_neighbour(after.first[i], first[i]);
      expect_neighbour(after.second[i], second[i]);
      expect_neighbour(after.moment[i], moment[i]);
    }
  } else {
    std::vector<BFloat16> rounded(all);
    narrow(first.data(), all, rounded.data());
    EXPECT_TRUE(same(after.first, rounded));
    narrow(second.data(), all, rounded.data());
    EXPECT_TRUE(same(after.second, rounded));
    narrow(moment.data(), all, rounded.data());
    EXPECT_TRUE(same(after.moment, rounded));
  }
}

TEST(NarrowPass, EveryPairOfStagesIsTheFloatPassWithItsStateRounded) {
  on_every_target([] {
    for (const EstimatorStage estimator : kEstimators) {
      for (const ScalingStage scaling : kScalings) {
        for (const std::size_t size : {1, 2, 3, 7, 8, 9, 31, 64, 1000, 4096}) {
          for (const std::size_t shift : {0, 1}) {
            check(estimator, scaling, size, shift, true);
            check(estimator, scaling, size, shift, false);
          }
        }
      }
    }
    EXPECT_EQ(narrow_pass(EstimatorStage::rank_one, ScalingStage::none), nullptr);
    EXPECT_EQ(narrow_pass(EstimatorStage::given, ScalingStage::none), nullptr);
  });
}

// Noise is of key, array and number: also where numbers outgrow 32 bits.
TEST(NarrowPass, ResultsDoNotDependOnTheCut) {
  on_every_target([] {
    for (const EstimatorStage estimator : kEstimators) {
      const NarrowPass pass = narrow_pass(estimator, ScalingStage::second_moment);
      constexpr std::size_t kSize = 203;
      for (const std::uint64_t start : {std::uint64_t{0}, (std::uint64_t{1} << 32) - 100}) {
        Arrays whole(kSize);
        PassSums sums;
        pass(whole.streams(0), scalars(), {true, 5, start}, kSize, &sums);
        Arrays cut(kSize);
        for (std::size_t at = 0, length = 1; at < kSize; at += length, length += 3) {
          pass(cut.streams(at), scalars(), {true, 5, start + at}, std::min(length, kSize - at),
               &sums);
        }
        expect_same(cut, whole);
      }
    }
  });
}

TEST(NarrowPass, NoiseIsTheSameOnEveryInstructionSet) {
  std::vector<std::vector<BFloat16>> seen;
  on_every_target([&] {
    // What is rounded is computed with one multiplication, which rounds alike everywhere.
    Arrays x(501);
    std::fill(x.gradient.begin(), x.gradient.end(), 0.0F);
    PassScalars<float> k;
    k.keep = 0.9F;
    PassSums sums;
    narrow_pass(EstimatorStage::average, ScalingStage::none)(x.streams(0), k, {true, 9, 3}, 501,
                                                             &sums);
    seen.push_back(x.first);
  });
  for (const auto& other : seen) EXPECT_TRUE(same(other, seen.front()));
}

/// A value 0.3 of the way between two of bfloat16, in both arrays of Adam and for many elements.
TEST(NarrowPass, StochasticRoundingKeepsTheMeanAndArraysAreIndependent) {
  on_every_target([] {
    constexpr std::size_t kSize = 4096;
    constexpr int kCalls = 64;
    const float keep = 1 + 0.3F / 128;  // 1 becomes 1.00234375, between 1 and 1.0078125
    int up_first = 0, up_moment = 0, up_both = 0, up_twice = 0;
    std::vector<char> before(kSize, 0);
    for (int call = 0; call < kCalls; ++call) {
      std::vector<float> weights(kSize, 0), gradient(kSize, 0);
      std::vector<BFloat16> first(kSize, BFloat16{0x3F80}), moment = first;
      PassScalars<float> k;
      k.keep = keep;
      k.v_keep = keep;
      PassSums sums;
      NarrowStreams streams;
      streams.weights = weights.data();
      streams.gradient = gradient.data();
      streams.first = first.data();
      streams.moment = moment.data();
      const auto key = static_cast<std::uint64_t>(call + 1) * 0x9E3779B97F4A7C15ULL;
      narrow_pass(EstimatorStage::average, ScalingStage::second_moment)(
          streams, k, {true, key, std::uint64_t{1} << 20}, kSize, &sums);
      for (std::size_t i = 0; i < kSize; ++i) {
        const bool a = first[i].bits == 0x3F81, b = moment[i].bits == 0x3F81;
        up_first += a ? 1 : 0;
        up_moment += b ? 1 : 0;
        up_both += a && b ? 1 : 0;
        up_twice += a && before[i] != 0 ? 1 : 0;
        before[i] = a ? 1 : 0;
      }
    }
    // Standard deviations are 0.0009 and 0.0006.
    const double all = static_cast<double>(kSize) * kCalls;
    EXPECT_NEAR(up_first / all, 0.3, 0.005);
    EXPECT_NEAR(up_moment / all, 0.3, 0.005);
    EXPECT_NEAR(up_both / all, 0.09, 0.005);                           // two arrays
    EXPECT_NEAR(up_twice / all, 0.09 * (kCalls - 1) / kCalls, 0.005);  // two steps
  });
}

TEST(NarrowPass, InfinityAndNaNStay) {
  on_every_target([] {
    const float inf = std::numeric_limits<float>::infinity();
    std::vector<float> weights(3, 0), gradient = {inf, -inf, std::nanf("")};
    std::vector<BFloat16> first(3, BFloat16{0});
    PassScalars<float> k;
    k.take = 1;
    PassSums sums;
    NarrowStreams streams;
    streams.weights = weights.data();
    streams.gradient = gradient.data();
    streams.first = first.data();
    for (std::uint64_t key = 0; key < 100; ++key) {
      narrow_pass(EstimatorStage::average, ScalingStage::none)(streams, k, {true, key, 0}, 3,
                                                               &sums);
      EXPECT_EQ(value(first[0]), inf);
      EXPECT_EQ(value(first[1]), -inf);
      EXPECT_TRUE(std::isnan(value(first[2])));
      std::fill(first.begin(), first.end(), BFloat16{0});
      std::fill(weights.begin(), weights.end(), 0.0F);
    }
  });
}

}  // namespace
}  // namespace tandem::kernels
