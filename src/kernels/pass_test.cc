// SPDX-License-Identifier: MIT
// Every fused pass against a scalar twin in double, written stage by stage from the formulas in
// pass.h; and the kernels that prepare passes against theirs.
#include "kernels/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/test_targets.h"

namespace tandem::kernels {
namespace {

constexpr EstimatorStage kEstimators[] = {
    EstimatorStage::identity, EstimatorStage::average,
    EstimatorStage::diagonal, EstimatorStage::diagonal_normalized,
    EstimatorStage::rank_one, EstimatorStage::given};
constexpr ScalingStage kScalings[] = {ScalingStage::none, ScalingStage::second_moment,
                                      ScalingStage::sign};

/// All streams, with one element more than a pass may touch.
template <class T>
struct Arrays {
  std::vector<T> weights, gradient, given, first, second, third, moment;

  explicit Arrays(std::size_t count)
      : weights(random_values<T>(count + 1, 1)),
        gradient(random_values<T>(count + 1, 2)),
        given(random_values<T>(count + 1, 3)),
        first(random_values<T>(count + 1, 4)),
        second(random_values<T>(count + 1, 5)),
        third(random_values<T>(count + 1, 6)),
        moment(random_values<T>(count + 1, 7)) {
    for (T& v : moment) v = std::abs(v);
  }
  PassStreams<T> streams(std::size_t at) {
    return {weights.data() + at, gradient.data() + at, given.data() + at, first.data() + at,
            second.data() + at,  third.data() + at,    moment.data() + at};
  }
};

template <class T>
PassScalars<T> scalars() {
  PassScalars<T> k;
  k.lr = T(0.1);
  k.shrink = T(0.99);
  k.l2 = T(0.05);
  k.keep = T(0.9);
  k.take = T(0.2);
  k.out_new = T(1.5);
  k.out_old = T(0.25);
  k.out_g = T(-0.5);
  k.alpha = T(0.3);
  k.beta = T(0.4);
  k.eps = T(0.01);
  k.s_before = T(0.7);
  k.s_after = T(0.8);
  k.a_step = T(0.21);
  k.c_step = T(-0.3);
  k.v_keep = T(0.95);
  k.v_take = T(0.05);
  k.v_root = T(1.25);
  k.v_eps = T(0.001);
  return k;
}

struct Element {
  double weights, gradient, given, first, second, third, moment;
};

/// The twin: one element of a pass, in double.
template <class T>
void twin(EstimatorStage estimator, ScalingStage scaling, const PassScalars<T>& k, Element& x,
          PassSums& sums) {
  const double w = x.weights;
  const double g = x.gradient + k.l2 * w;
  double estimate = g;
  const auto learn = [&](double p) {
    const double r = g - p;
    sums.residual2 += r * r;
    sums.gradient2 += g * g;
    return r;
  };
  switch (estimator) {
    case EstimatorStage::identity:
      break;
    case EstimatorStage::given:
      estimate = x.given;
      break;
    case EstimatorStage::average: {
      const double old = x.first;
      x.first = k.keep * old + k.take * g;
      estimate = k.out_new * x.first + k.out_old * old + k.out_g * g;
      break;
    }
    case EstimatorStage::diagonal:
    case EstimatorStage::diagonal_normalized: {
      const double r = learn(x.first * w + x.second);
      const double alpha =
          estimator == EstimatorStage::diagonal ? k.alpha : k.alpha / (k.eps + w * w);
      sums.delta = std::max(sums.delta, alpha * w * w + k.beta);
      x.first += alpha * r * w;
      x.second += k.beta * r;
      estimate = x.first * w + x.second;  // the second product, as the paper prints it
      break;
    }
    case EstimatorStage::rank_one: {
      const double r = learn(x.first * k.s_before + x.second);
      x.first += k.a_step * r;
      x.third += k.c_step * w;
      x.second += k.beta * r;
      estimate = x.first * k.s_after + x.second;
      break;
    }
  }
  double direction = estimate;
  if (scaling == ScalingStage::second_moment) {
    x.moment = k.v_keep * x.moment + k.v_take * g * g;
    direction = estimate / (k.v_root * std::sqrt(x.moment) + k.v_eps);
  } else if (scaling == ScalingStage::sign) {
    direction = estimate > 0 ? 1 : estimate < 0 ? -1 : 0;
  }
  x.weights = k.shrink * w - k.lr * direction;
  sums.cw += x.third * x.weights;
  sums.ww += x.weights * x.weights;
  sums.aa += x.first * x.first;
  sums.ab += x.first * x.second;
}

template <class T>
class PassTest : public ::testing::Test {
 protected:
  static constexpr double kEps = std::numeric_limits<T>::epsilon();

  static void check(EstimatorStage estimator, ScalingStage scaling, std::size_t size,
                    std::size_t shift) {
    SCOPED_TRACE(testing::Message() << "estimator " << static_cast<int>(estimator) << " scaling "
                                    << static_cast<int>(scaling) << " size " << size);
    const auto k = scalars<T>();
    const Arrays<T> before(size + shift);
    Arrays<T> after = before;
    PassSums sums;
    kernels<T>().pass(estimator, scaling)(after.streams(shift), k, size, &sums);
    PassSums expected;
    for (std::size_t i = shift; i < size + shift; ++i) {
      Element x{before.weights[i], before.gradient[i], before.given[i], before.first[i],
                before.second[i],  before.third[i],    before.moment[i]};
      twin<T>(estimator, scaling, k, x, expected);
      const double tolerance = 64 * kEps;
      // A sign near 0 may turn; none of these values is so near.
      ASSERT_NEAR(after.weights[i], x.weights, tolerance * (1 + std::abs(x.weights) * 10));
      ASSERT_NEAR(after.first[i], x.first, tolerance * (1 + std::abs(x.first)));
      ASSERT_NEAR(after.second[i], x.second, tolerance * (1 + std::abs(x.second)));
      ASSERT_NEAR(after.third[i], x.third, tolerance * (1 + std::abs(x.third)));
      ASSERT_NEAR(after.moment[i], x.moment, tolerance * (1 + std::abs(x.moment)));
    }
    // What lies behind the end, and what is only read, stays.
    EXPECT_EQ(after.weights.back(), before.weights.back());
    EXPECT_EQ(after.first.back(), before.first.back());
    EXPECT_EQ(after.moment.back(), before.moment.back());
    EXPECT_EQ(after.gradient, before.gradient);
    EXPECT_EQ(after.given, before.given);

    const bool diagonal =
        estimator == EstimatorStage::diagonal || estimator == EstimatorStage::diagonal_normalized;
    const bool rank_one = estimator == EstimatorStage::rank_one;
    const double tolerance = 256 * kEps * static_cast<double>(size + 10);
    if (diagonal || rank_one) {
      EXPECT_NEAR(sums.residual2, expected.residual2, tolerance * 10);
      EXPECT_NEAR(sums.gradient2, expected.gradient2, tolerance * 10);
    }
    if (diagonal) {
      EXPECT_NEAR(sums.delta, expected.delta, tolerance);
    }
    if (rank_one) {
      EXPECT_NEAR(sums.cw, expected.cw, tolerance * 10);
      EXPECT_NEAR(sums.ww, expected.ww, tolerance * 10);
      EXPECT_NEAR(sums.aa, expected.aa, tolerance * 10);
      EXPECT_NEAR(sums.ab, expected.ab, tolerance * 10);
    }
    if (rank_one || estimator == EstimatorStage::given) {
      EXPECT_EQ(sums.weights_hash, kernels<T>().hash(after.weights.data() + shift, size));
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PassTest, Types);

TYPED_TEST(PassTest, EveryPairOfStagesEqualsItsTwin) {
  on_every_target([] {
    for (const EstimatorStage estimator : kEstimators) {
      for (const ScalingStage scaling : kScalings) {
        for (const std::size_t size : {1, 2, 3, 7, 8, 9, 31, 64, 1000, 4096}) {
          for (const std::size_t shift : {0, 1})
            TestFixture::check(estimator, scaling, size, shift);
        }
      }
    }
  });
}

TYPED_TEST(PassTest, ResultsDoNotDependOnTheCut) {
  using T = TypeParam;
  on_every_target([] {
    for (const EstimatorStage estimator : kEstimators) {
      const auto pass = kernels<T>().pass(estimator, ScalingStage::second_moment);
      const auto k = scalars<T>();
      constexpr std::size_t kSize = 103;
      Arrays<T> whole(kSize);
      PassSums sums;
      pass(whole.streams(0), k, kSize, &sums);
      Arrays<T> cut(kSize);
      for (std::size_t at = 0, length = 1; at < kSize; at += length, length += 3) {
        pass(cut.streams(at), k, std::min(length, kSize - at), &sums);
      }
      EXPECT_EQ(cut.weights, whole.weights);
      EXPECT_EQ(cut.first, whole.first);
      EXPECT_EQ(cut.second, whole.second);
      EXPECT_EQ(cut.third, whole.third);
      EXPECT_EQ(cut.moment, whole.moment);
    }
  });
}

TYPED_TEST(PassTest, SignOfZeroIsZero) {
  using T = TypeParam;
  on_every_target([] {
    T w[3] = {1, 1, 1};
    const T g[3] = {T{0}, -T{0}, T{2}};
    PassStreams<T> streams;
    streams.weights = w;
    streams.gradient = g;
    PassScalars<T> k;
    k.lr = 1;
    PassSums sums;
    kernels<T>().pass(EstimatorStage::identity, ScalingStage::sign)(streams, k, 3, &sums);
    EXPECT_EQ(w[0], T{1});
    EXPECT_EQ(w[1], T{1});
    EXPECT_EQ(w[2], T{0});
  });
}

TYPED_TEST(PassTest, RankOneSumsEqualTheirTwins) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t size : {1, 5, 8, 100, 4096}) {
      const Arrays<T> x(size);
      const auto gather = kernels<T>().rank_one_gather(x.weights.data(), x.gradient.data(),
                                                       x.first.data(), T(0.5), size);
      PassSums sums;
      kernels<T>().rank_one_sums(x.weights.data(), x.first.data(), x.second.data(), x.third.data(),
                                 size, &sums);
      double ga = 0, cw = 0, ww = 0, aa = 0, ab = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const double w = x.weights[i], a = x.first[i];
        ga += (x.gradient[i] + 0.5 * w) * a;
        cw += x.third[i] * w;
        ww += w * w;
        aa += a * a;
        ab += a * x.second[i];
      }
      const double tolerance = 64 * TestFixture::kEps * static_cast<double>(size);
      EXPECT_NEAR(gather.ga, ga, tolerance);
      EXPECT_NEAR(sums.cw, cw, tolerance);
      EXPECT_NEAR(sums.ww, ww, tolerance);
      EXPECT_NEAR(sums.aa, aa, tolerance);
      EXPECT_NEAR(sums.ab, ab, tolerance);
      EXPECT_EQ(gather.weights_hash, sums.weights_hash);
      EXPECT_EQ(gather.weights_hash, kernels<T>().hash(x.weights.data(), size));
    }
  });
}

TYPED_TEST(PassTest, RowsLearnAsTheirTwins) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t columns : {1, 3, 8, 70}) {
      const std::size_t rows = std::min<std::size_t>(columns, 5);
      const BlockRates<T> rates{T(0.1), T(0.3), T(0.8)};
      const auto matrix = random_values<T>(rows * columns, 8);
      const auto w = random_values<T>(columns, 9);
      const auto g = random_values<T>(rows, 10);
      const auto b = random_values<T>(rows, 11);
      auto learned = matrix;
      auto b_learned = b;
      std::vector<T> estimate(rows);
      PassSums sums;
      kernels<T>().learn_rows(learned.data(), columns, w.data(), g.data(), b_learned.data(),
                              estimate.data(), rows, columns, rates, &sums);
      // The same through learn_vector, from the products without b.
      std::vector<T> p(rows);
      kernels<T>().matrix_vector(matrix.data(), columns, w.data(), rows, columns, p.data());
      auto b_vector = b;
      std::vector<T> step(rows);
      PassSums vector_sums;
      kernels<T>().learn_vector(p.data(), g.data(), b_vector.data(), step.data(), rows, rates,
                                &vector_sums);
      double residual2 = 0;
      const double tolerance = 64 * TestFixture::kEps * static_cast<double>(columns + 4);
      for (std::size_t i = 0; i < rows; ++i) {
        double predicted = b[i];
        for (std::size_t j = 0; j < columns; ++j) {
          predicted += static_cast<double>(matrix[i * columns + j]) * static_cast<double>(w[j]);
        }
        const double r = g[i] - predicted;
        residual2 += r * r;
        EXPECT_NEAR(estimate[i], predicted + rates.delta * r, tolerance);
        EXPECT_NEAR(p[i], predicted + rates.delta * r, tolerance);
        EXPECT_NEAR(b_learned[i], b[i] + rates.beta * r, tolerance);
        EXPECT_NEAR(b_vector[i], b[i] + rates.beta * r, tolerance);
        EXPECT_NEAR(step[i], rates.alpha * r, tolerance);
        for (std::size_t j = 0; j < columns; ++j) {
          EXPECT_NEAR(learned[i * columns + j], matrix[i * columns + j] + rates.alpha * r * w[j],
                      tolerance);
        }
      }
      EXPECT_NEAR(sums.residual2, residual2, tolerance * 100);
      EXPECT_NEAR(vector_sums.residual2, residual2, tolerance * 100);
    }
  });
}

}  // namespace
}  // namespace tandem::kernels
