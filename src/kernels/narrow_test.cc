// SPDX-License-Identifier: MIT
#include "kernels/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/test_targets.h"

namespace tandem::kernels {
namespace {

float value(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

/// To nearest, ties to even, by looking at both neighbours.
std::uint16_t nearest(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto below = static_cast<std::uint16_t>(bits >> 16);
  const std::uint32_t rest = bits & 0xFFFFU;
  if (std::isinf(x) || rest < 0x8000U) return below;
  const auto above = static_cast<std::uint16_t>(below + 1);
  if (rest > 0x8000U) return above;
  return below % 2 == 0 ? below : above;
}

std::vector<float> some_floats() {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               1.0F,
                               1.00390625F,  // between two, ties down to even
                               1.01171875F,  // ties up to even
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min()};
  Random random(3, 1);
  while (values.size() < 5003) {
    values.push_back(static_cast<float>(random.normal() * std::exp(20 * random.normal())));
  }
  return values;
}

TEST(Narrow, RoundsToNearestEvenWhateverTheCut) {
  on_every_target([] {
    const std::vector<float> from = some_floats();
    for (const std::size_t count : {from.size(), std::size_t{1}, std::size_t{17}}) {
      std::vector<BFloat16> to(count);
      narrow(from.data(), count, to.data());
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(to[i].bits, nearest(from[i])) << from[i] << " at " << i;
      }
    }
  });
}

TEST(Narrow, WideningIsExactAndNarrowingItBackToo) {
  on_every_target([] {
    std::vector<BFloat16> all(0x10000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
    std::vector<float> wide(all.size());
    widen(all.data(), all.size(), wide.data());
    std::vector<BFloat16> back(all.size());
    std::vector<BFloat16> noisy(all.size());
    narrow(wide.data(), wide.size(), back.data());
    narrow_stochastic(wide.data(), wide.size(), noisy.data(), 99);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(value(all[i]))) {
        EXPECT_TRUE(std::isnan(wide[i]) && std::isnan(value(back[i])) &&
                    std::isnan(value(noisy[i])));
        continue;
      }
      EXPECT_EQ(wide[i], value(all[i]));
      EXPECT_EQ(back[i].bits, all[i].bits);
      EXPECT_EQ(noisy[i].bits, all[i].bits) << "an exact value takes no noise";
    }
  });
}

TEST(Narrow, ANanWhoseSignIsInTheLowerHalfStaysOne) {
  const float nan = std::bit_cast<float>(0x7F800001U);
  BFloat16 to;
  narrow(&nan, 1, &to);
  EXPECT_TRUE(std::isnan(value(to)));
}

TEST(Narrow, StochasticRoundingKeepsTheMeanAndTakesNeighboursOnly) {
  on_every_target([] {
    // 1 + k/8 of the gap to the next bfloat16.
    for (int eighth = 1; eighth < 8; ++eighth) {
      const float x = 1.0F + 0x1p-7F * static_cast<float>(eighth) / 8;
      const std::vector<float> from(40000, x);
      std::vector<BFloat16> to(from.size());
      narrow_stochastic(from.data(), from.size(), to.data(), 12345);
      double up = 0;
      for (const BFloat16 y : to) {
        ASSERT_TRUE(value(y) == 1.0F || value(y) == 1.0F + 0x1p-7F);
        up += value(y) > 1.0F ? 1 : 0;
      }
      // Five standard deviations of a fair coin's mean.
      EXPECT_NEAR(up / static_cast<double>(from.size()), eighth / 8.0, 5 * 0.5 / 200);
    }
  });
}

TEST(Narrow, NoiseDoesNotDependOnTheCut) {
  const std::vector<float> from(700, 1.002F);
  // Across the end of 32 bits, where the count inside starts anew.
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{5}, (std::uint64_t{1} << 32) - 300}) {
    on_every_target([&] {
      std::vector<BFloat16> whole(from.size());
      std::vector<BFloat16> parts(from.size());
      narrow_stochastic(from.data(), from.size(), whole.data(), 7, first);
      for (std::size_t at = 0; at < from.size();) {
        const std::size_t count = std::min<std::size_t>(1 + at % 97, from.size() - at);
        narrow_stochastic(from.data() + at, count, parts.data() + at, 7, first + at);
        at += count;
      }
      for (std::size_t i = 0; i < from.size(); ++i) ASSERT_EQ(whole[i].bits, parts[i].bits) << i;
    });
  }
}

TEST(Narrow, NoiseIsAFunctionOfKeyAndIndexOnEveryTarget) {
  const std::vector<float> from(1000, 1.002F);
  std::vector<std::vector<std::uint16_t>> seen;
  on_every_target([&] {
    std::vector<BFloat16> whole(from.size());
    std::vector<BFloat16> other(from.size());
    narrow_stochastic(from.data(), from.size(), whole.data(), 7);
    narrow_stochastic(from.data(), from.size(), other.data(), 8);
    std::vector<std::uint16_t> bits;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      bits.push_back(whole[i].bits);
      differ += whole[i].bits != other[i].bits ? 1 : 0;
    }
    EXPECT_GT(differ, from.size() / 8);
    seen.push_back(bits);
  });
  for (const auto& bits : seen) EXPECT_EQ(bits, seen.front());
}

}  // namespace
}  // namespace tandem::kernels
