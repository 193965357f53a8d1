// SPDX-License-Identifier: MIT
// Feed-forward nets on small data made by hand: gradients against finite differences of a loss in
// double and against a twin written out for one hidden layer; sparse against dense; and that a
// member's numbers are its own, to the bit, whoever else is in the population.
//
// Single precision gives these gradients, of size 1 to 10, to about 1e-6 of their size: the
// tolerance is 2e-5.
#include "problems/ffn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "problems/softmax.h"

namespace tandem::problems {
namespace {

using Rows = std::vector<std::uint32_t>;
using Widths = std::vector<std::size_t>;

constexpr std::size_t kRows = 70;
constexpr std::size_t kFeatures = 11;
constexpr std::size_t kClasses = 4;
constexpr double kTolerance = 2e-5;

/// A third of the features are zeros; the same numbers dense and sparse.
std::shared_ptr<const data::Task> make_task(bool sparse) {
  Random random(1, 0);
  auto task = std::make_shared<data::Task>();
  data::Dataset& data = task->train;
  data.rows = kRows;
  data.features = kFeatures;
  data.classes = kClasses;
  data.sparse = sparse;
  if (!sparse) data.dense = Buffer<float>(kRows * kFeatures);
  if (sparse) data.offsets.push_back(0);
  for (std::size_t n = 0; n < kRows; ++n) {
    for (std::size_t j = 0; j < kFeatures; ++j) {
      const double draw = random.normal();
      if (random.uniform() < 1.0 / 3) continue;
      if (sparse) {
        data.columns.push_back(static_cast<std::uint32_t>(j));
        data.values.push_back(static_cast<float>(draw));
      } else {
        data.dense[n * kFeatures + j] = static_cast<float>(draw);
      }
    }
    if (sparse) data.offsets.push_back(data.values.size());
    data.labels.push_back(static_cast<std::uint32_t>(random.below(kClasses)));
  }
  return task;
}

/// A task of this shape with nothing in it.
std::shared_ptr<const data::Task> empty_task(std::size_t features, std::size_t classes) {
  auto task = std::make_shared<data::Task>();
  task->train.features = features;
  task->train.classes = classes;
  return task;
}

std::vector<float> some_weights(const Problem& problem, std::uint64_t seed) {
  Random random(seed, 1);
  std::vector<float> weights(problem.dimension());
  for (float& weight : weights) weight = static_cast<float>(0.7 * random.normal());
  return weights;
}

Rows some_rows(std::size_t count) {
  Rows rows = Random(3, 2).permutation(kRows);
  rows.resize(count);
  return rows;
}

struct Answer {
  std::vector<float> gradient;
  double rough_loss = 0;
  LossSum sum;
};

Answer ask(const Batch& batch, const std::vector<float>& weights) {
  Answer answer;
  answer.gradient.resize(weights.size());
  batch.gradients(1, weights.data(), answer.gradient.data(), &answer.rough_loss);
  batch.losses(1, weights.data(), &answer.sum);
  return answer;
}

// ---- twins in double ----------------------------------------------------------------------------

struct Twin {
  double loss = 0;  // sum
  std::size_t correct = 0;
};

/// The softmax of `logits` in place; their cross entropy is returned.
double to_softmax(std::vector<double>& logits, std::uint32_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  const double loss = largest + std::log(sum) - logits[label];
  for (double& logit : logits) logit = std::exp(logit - largest) / sum;
  return loss;
}

/// The loss of any net.
Twin twin(const data::Dataset& dense, const std::vector<Layer>& layers, Loss loss, const Rows& rows,
          const std::vector<double>& weights) {
  Twin result;
  for (const std::uint32_t n : rows) {
    const float* x = dense.dense.data() + n * kFeatures;
    std::vector<double> values(x, x + kFeatures);
    const double* w = weights.data();
    for (const Layer& layer : layers) {
      if (&layer != &layers.front()) {
        for (double& value : values) value = std::max(value, 0.0);
      }
      if (layer.bias) values.push_back(1);
      std::vector<double> sums(layer.units, 0.0);
      for (double& sum : sums) {
        for (const double value : values) sum += *w++ * value;
      }
      values = sums;
    }
    const auto guess = std::max_element(values.begin(), values.end()) - values.begin();
    result.correct += guess == dense.labels[n] ? 1 : 0;
    const double once = to_softmax(values, dense.labels[n]);
    result.loss += loss == Loss::cross_entropy ? once : to_softmax(values, dense.labels[n]);
  }
  return result;
}

/// The gradient of the mean loss of a net with one hidden layer, written out.
std::vector<double> one_hidden_gradient(const data::Dataset& dense, std::size_t units,
                                        bool input_bias, const Rows& rows,
                                        const std::vector<double>& weights) {
  const std::size_t columns = kFeatures + (input_bias ? 1 : 0);
  const double* v = weights.data() + units * columns;  // the second layer
  std::vector<double> gradient(weights.size(), 0.0);
  double* gv = gradient.data() + units * columns;
  for (const std::uint32_t n : rows) {
    std::vector<double> x(dense.dense.data() + n * kFeatures,
                          dense.dense.data() + (n + 1) * kFeatures);
    if (input_bias) x.push_back(1);
    std::vector<double> hidden(units + 1, 1.0);
    for (std::size_t u = 0; u < units; ++u) {
      double sum = 0;
      for (std::size_t j = 0; j < columns; ++j) sum += weights[u * columns + j] * x[j];
      hidden[u] = std::max(sum, 0.0);
    }
    std::vector<double> p(kClasses, 0.0);
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t u = 0; u <= units; ++u) p[c] += v[c * (units + 1) + u] * hidden[u];
    }
    to_softmax(p, dense.labels[n]);
    p[dense.labels[n]] -= 1;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double error = p[c] / static_cast<double>(rows.size());
      for (std::size_t u = 0; u <= units; ++u) {
        gv[c * (units + 1) + u] += error * hidden[u];
        if (u == units || hidden[u] == 0) continue;
        for (std::size_t j = 0; j < columns; ++j) {
          gradient[u * columns + j] += error * v[c * (units + 1) + u] * x[j];
        }
      }
    }
  }
  return gradient;
}

std::vector<double> in_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// ---- tests --------------------------------------------------------------------------------------

TEST(FeedForward, CountsOfThePaper) {
  const FeedForward mnist(empty_task(1025, 10), {100}, 0, false);
  EXPECT_EQ(mnist.dimension(), 103510U);
  EXPECT_EQ(mnist.segments(), (Widths{102500, 1010}));
  const FeedForward covtype(empty_task(98, 7), {10}, 0.5, true);
  EXPECT_EQ(covtype.segments(), (Widths{98 * 10 + 10, 10 * 7 + 7}));
  EXPECT_EQ(covtype.description(), "feed-forward net, 98-10-7");
  EXPECT_EQ(covtype.lambda(), 0.5);
  const FeedForward deep(empty_task(5, 2), {7, 3}, 0, true);
  EXPECT_EQ(deep.segments(), (Widths{6 * 7, 8 * 3, 4 * 2}));
  EXPECT_THROW(FeedForward(empty_task(5, 2), {7, 0}, 0, true), std::invalid_argument);
}

struct Shape {
  std::string name;
  Widths hidden;
  bool input_bias = false;
  bool sparse = false;
  Loss loss = Loss::cross_entropy;
};

class FeedForwardTest : public ::testing::TestWithParam<Shape> {
 protected:
  Twin twin_of(const Rows& rows, const std::vector<double>& weights) const {
    return twin(dense_->train, problem_.layers(), GetParam().loss, rows, weights);
  }
  FeedForward problem_{make_task(GetParam().sparse), GetParam().hidden, 0, GetParam().input_bias,
                       GetParam().loss};
  std::shared_ptr<const data::Task> dense_ = make_task(false);
};

const Shape kShapes[] = {
    {.name = "none", .hidden = {}, .input_bias = true},
    {.name = "one", .hidden = {6}},
    {.name = "one_with_bias", .hidden = {17}, .input_bias = true},
    {.name = "one_sparse", .hidden = {6}, .input_bias = true, .sparse = true},
    {.name = "two", .hidden = {33, 5}, .input_bias = true},
    {.name = "two_sparse", .hidden = {8, 8}, .sparse = true},
    {.name = "three", .hidden = {7, 1, 9}},
    {.name = "one_double_softmax", .hidden = {6}, .loss = Loss::double_softmax},
    {.name = "two_sparse_double_softmax",
     .hidden = {8, 8},
     .input_bias = true,
     .sparse = true,
     .loss = Loss::double_softmax},
};
INSTANTIATE_TEST_SUITE_P(, FeedForwardTest, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) { return shape.param.name; });

TEST_P(FeedForwardTest, LossesEqualTheirTwin) {
  for (const std::size_t count : {1, 16, 17, 64, 70}) {
    const Rows rows = some_rows(count);
    const auto weights = some_weights(problem_, count);
    const Answer answer = ask(*problem_.batch(Problem::Part::train, rows), weights);
    const Twin expected = twin_of(rows, in_double(weights));
    EXPECT_NEAR(answer.sum.loss, expected.loss, kTolerance * static_cast<double>(count));
    EXPECT_EQ(answer.sum.correct, expected.correct);
    const double mean = expected.loss / static_cast<double>(count);
    if (GetParam().loss == Loss::double_softmax) {
      EXPECT_GE(answer.rough_loss, 0);
      EXPECT_LE(answer.rough_loss, 1);
      continue;
    }
    EXPECT_LE(answer.rough_loss, mean + kTolerance);
    EXPECT_GE(answer.rough_loss, mean - std::log(kClasses) - kTolerance);
  }
}

TEST_P(FeedForwardTest, GradientEqualsFiniteDifferences) {
  for (const std::size_t count : {1, 19, 64}) {
    const Rows rows = some_rows(count);
    const auto weights = some_weights(problem_, 4);
    const Answer answer = ask(*problem_.batch(Problem::Part::train, rows), weights);
    auto w = in_double(weights);
    const auto loss = [&] { return twin_of(rows, w).loss; };
    for (std::size_t i = 0; i < w.size(); ++i) {
      constexpr double kStep = 1e-6;
      const double here = w[i];
      w[i] = here + kStep;
      const double above = loss();
      w[i] = here - kStep;
      const double below = loss();
      w[i] = here;
      const double slope = (above - below) / (2 * kStep) / static_cast<double>(count);
      ASSERT_NEAR(answer.gradient[i], slope, kTolerance) << count << " rows, weight " << i;
    }
  }
}

TEST_P(FeedForwardTest, AMemberIsTheSameInAnyCrowd) {
  const auto weights = some_weights(problem_, 6);
  const std::size_t d = weights.size();
  for (const std::size_t count : {1, 17, 64}) {
    const auto batch = problem_.batch(Problem::Part::train, some_rows(count));
    const Answer alone = ask(*batch, weights);
    for (const std::size_t members : {1, 2, 3, 7, 20}) {
      for (std::size_t at = 0; at < members; ++at) {
        std::vector<float> crowd;
        for (std::size_t m = 0; m < members; ++m) {
          auto other = m == at ? weights : some_weights(problem_, 100 + m);
          // One of the others has diverged.
          if (m + 1 == at) other.assign(d, std::numeric_limits<float>::quiet_NaN());
          crowd.insert(crowd.end(), other.begin(), other.end());
        }
        std::vector<float> gradients(members * d);
        std::vector<double> rough(members);
        std::vector<LossSum> sums(members);
        batch->gradients(members, crowd.data(), gradients.data(), rough.data());
        batch->losses(members, crowd.data(), sums.data());
        for (std::size_t i = 0; i < d; ++i) {
          ASSERT_EQ(gradients[at * d + i], alone.gradient[i])
              << "member " << at << " of " << members << ", weight " << i;
        }
        ASSERT_EQ(rough[at], alone.rough_loss);
        ASSERT_EQ(sums[at].loss, alone.sum.loss);
        ASSERT_EQ(sums[at].correct, alone.sum.correct);
      }
    }
  }
}

/// Wherever in the net they are.
TEST_P(FeedForwardTest, WeightsThatAreNotFiniteShow) {
  const auto batch = problem_.batch(Problem::Part::train, some_rows(64));
  const auto good = some_weights(problem_, 7);
  std::size_t first = 0;
  for (const std::size_t size : problem_.segments()) {
    auto weights = good;
    std::fill_n(weights.data() + first, size, std::numeric_limits<float>::quiet_NaN());
    const Answer answer = ask(*batch, weights);
    EXPECT_FALSE(std::isfinite(answer.rough_loss)) << "layer at " << first;
    EXPECT_FALSE(std::isfinite(answer.sum.loss)) << "layer at " << first;
    first += size;
  }
}

TEST(FeedForward, OneHiddenLayerEqualsTheTwinWrittenOut) {
  for (const bool input_bias : {false, true}) {
    for (const std::size_t units : {1, 5, 16, 40}) {
      const auto task = make_task(false);
      const FeedForward problem(task, {units}, 0, input_bias);
      const Rows rows = some_rows(47);
      const auto weights = some_weights(problem, units);
      const Answer answer = ask(*problem.batch(Problem::Part::train, rows), weights);
      const auto expected =
          one_hidden_gradient(task->train, units, input_bias, rows, in_double(weights));
      for (std::size_t i = 0; i < weights.size(); ++i) {
        ASSERT_NEAR(answer.gradient[i], expected[i], kTolerance) << units << " units, weight " << i;
      }
    }
  }
}

void expect_same_bits(const Problem& one, const Problem& other, const std::vector<float>& weights) {
  const Rows rows = some_rows(64);
  const Answer a = ask(*one.batch(Problem::Part::train, rows), weights);
  const Answer b = ask(*other.batch(Problem::Part::train, rows), weights);
  EXPECT_EQ(a.gradient, b.gradient);
  EXPECT_EQ(a.rough_loss, b.rough_loss);
  EXPECT_EQ(a.sum.loss, b.sum.loss);
}

TEST(FeedForward, WithoutHiddenLayersItIsSoftmaxRegressionToTheBit) {
  for (const bool sparse : {false, true}) {
    const FeedForward net(make_task(sparse), {}, 0, false);
    const SoftmaxRegression softmax(make_task(sparse), 0);
    expect_same_bits(net, softmax, some_weights(net, 8));
  }
}

TEST(FeedForward, SparseEqualsDenseToTheBit) {
  for (const bool input_bias : {false, true}) {
    const FeedForward dense(make_task(false), {9, 6}, 0, input_bias);
    const FeedForward sparse(make_task(true), {9, 6}, 0, input_bias);
    expect_same_bits(dense, sparse, some_weights(dense, 9));
  }
}

}  // namespace
}  // namespace tandem::problems
