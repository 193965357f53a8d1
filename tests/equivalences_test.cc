// SPDX-License-Identifier: MIT
// Optimizers that are others in disguise: configured so, they must take the same steps. Also the
// identity G = (1 - delta) p + delta g behind all trainable ones, seen from outside.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/harness.h"

namespace tandem::testing {
namespace {

constexpr int steps = 300;

/// The same weights at all times, to a hundred roundings.
template <class T>
void expect_same_with(Optimizer& one, Optimizer& other, const problems::Objective& problem,
                      const char* what) {
  const Layout layout = one_part(problem.dimension());
  const Course course = course_of<T>(one, problem, layout, steps, problem.start());
  const Course expected = course_of<T>(other, problem, layout, steps, problem.start());
  EXPECT_LE(difference(course, expected), 100 * std::numeric_limits<T>::epsilon())
      << what << ", d = " << problem.dimension() << (sizeof(T) == 4 ? ", float" : ", double");
}

/// Both types, several dimensions. `one` and `other` make an optimizer from a dimension.
template <class One, class Other>
void expect_same(One one, Other other, const char* what,
                 const std::vector<std::size_t>& dimensions = {1, 5, 64, 301}) {
  for (const std::size_t d : dimensions) {
    const problems::Quadratic problem = bowl_for(record("full-to"), d, 53);
    {
      auto a = one(d);
      auto b = other(d);
      expect_same_with<float>(a, b, problem, what);
    }
    auto a = one(d);
    auto b = other(d);
    expect_same_with<double>(a, b, problem, what);
  }
}

Schedule falling() { return Schedule::exponential_epochs(0.1, 0.95); }

TEST(Equivalence, trainable_with_alpha_0_is_momentum) {
  const auto momentum = [](std::size_t d) {
    return Momentum(d, {.lr = falling(), .momentum = 0.9, .l2 = 0.01, .weight_decay = 0.1});
  };
  for (const Form form : {Form::automatic, Form::dense})
    expect_same(
        [form](std::size_t d) {
          return FullTO(d, {.lr = falling(),
                            .alpha = 0,
                            .beta = 0.1,
                            .form = form,
                            .l2 = 0.01,
                            .weight_decay = 0.1});
        },
        momentum, "full-to");
  expect_same(
      [](std::size_t d) {
        return DiagonalTO(
            d, {.lr = falling(), .alpha = 0, .beta = 0.1, .l2 = 0.01, .weight_decay = 0.1});
      },
      momentum, "diag-to");
  expect_same(
      [](std::size_t d) {
        return RankOneTO(
            d, {.lr = falling(), .alpha = 0, .beta = 0.1, .l2 = 0.01, .weight_decay = 0.1});
      },
      momentum, "ro-to");
  expect_same(
      [](std::size_t d) {
        return BlockTO(d,
                       {.lr = falling(), .alpha = 0, .beta = 0.1, .l2 = 0.01, .weight_decay = 0.1});
      },
      momentum, "block-to");
  expect_same([](std::size_t d) { return FullTO(d, {.lr = 0.1, .alpha = 0, .form = Form::span}); },
              [](std::size_t d) { return Momentum(d, {.lr = 0.1}); }, "full-to, span");
}

TEST(Equivalence, block_of_1_is_diag) {
  for (const bool normalize : {false, true})
    expect_same(
        [normalize](std::size_t d) {
          return BlockTO(
              d, {.lr = falling(), .alpha = 0.3, .beta = 0.3, .block = 1, .normalize = normalize});
        },
        [normalize](std::size_t d) {
          return DiagonalTO(d,
                            {.lr = falling(), .alpha = 0.3, .beta = 0.3, .normalize = normalize});
        },
        "block-to");
}

TEST(Equivalence, block_of_everything_is_full) {
  for (const bool normalize : {false, true})
    for (const std::size_t more : {0, 1, 1000})
      expect_same(
          [=](std::size_t d) {
            return BlockTO(d, {.lr = falling(),
                               .alpha = 0.3,
                               .beta = 0.3,
                               .block = d + more,
                               .normalize = normalize});
          },
          [=](std::size_t d) {
            return FullTO(d, {.lr = falling(),
                              .alpha = 0.3,
                              .beta = 0.3,
                              .form = Form::dense,
                              .normalize = normalize});
          },
          "block-to", {1, 5, 130});
}

TEST(Equivalence, one_dimension_is_diag) {
  const auto diag = [](std::size_t d) {
    return DiagonalTO(d, {.lr = falling(), .alpha = 0.3, .beta = 0.3});
  };
  for (const Form form : {Form::automatic, Form::dense, Form::span})
    expect_same(
        [form](std::size_t d) {
          return FullTO(d, {.lr = falling(), .alpha = 0.3, .beta = 0.3, .form = form});
        },
        diag, "full-to", {1});
  expect_same(
      [](std::size_t d) { return BlockTO(d, {.lr = falling(), .alpha = 0.3, .beta = 0.3}); }, diag,
      "block-to", {1});
}

TEST(Equivalence, adam_to_with_alpha_0_is_adam_without_first_correction) {
  expect_same([](std::size_t d) { return AdamTO(d, {.lr = 0.01, .alpha = 0, .beta = 0.1}); },
              [](std::size_t d) { return Adam(d, {.lr = 0.01, .correct_first = false}); },
              "adam-to");
}

TEST(Equivalence, rivals_without_their_feature) {
  const auto sgd = [](std::size_t d) { return SGD(d, {.lr = falling()}); };
  for (const MomentumForm form : {MomentumForm::ema, MomentumForm::torch})
    expect_same(
        [form](std::size_t d) {
          return Momentum(d, {.lr = falling(), .momentum = 0, .form = form});
        },
        sgd, "momentum");
  expect_same([](std::size_t d) { return Nesterov(d, {.lr = falling(), .momentum = 0}); }, sgd,
              "nesterov");
  expect_same([](std::size_t d) { return AdamW(d, {.lr = 0.01, .weight_decay = 0}); },
              [](std::size_t d) { return Adam(d, {.lr = 0.01}); }, "adamw");
  expect_same(
      [](std::size_t d) {
        return Adam(d, {.lr = 0.01, .beta1 = 0, .beta2 = 0.99, .correct_second = false});
      },
      [](std::size_t d) { return RMSProp(d, {.lr = 0.01}); }, "adam with beta1 = 0");
  // The paper's form with lr is torch's with lr (1 - momentum).
  expect_same([](std::size_t d) { return Momentum(d, {.lr = 0.1, .momentum = 0.75}); },
              [](std::size_t d) {
                return Momentum(d, {.lr = 0.025, .momentum = 0.75, .form = MomentumForm::torch});
              },
              "momentum, ema");
}

TEST(Equivalence, beta_1_and_alpha_0_is_sgd) {
  expect_same([](std::size_t d) { return DiagonalTO(d, {.lr = falling(), .alpha = 0, .beta = 1}); },
              [](std::size_t d) { return SGD(d, {.lr = falling()}); }, "diag-to");
}

// ---- G = (1 - delta) p + delta g
// -----------------------------------------------------------------

/// The estimate that a step used, from the weights' change.
template <class T>
std::vector<double> estimate(Optimizer& optimizer, std::vector<T> w, const std::vector<T>& g,
                             double lr) {
  const std::vector<T> before = w;
  optimizer.step(w, g);
  std::vector<double> G(w.size());
  for (std::size_t i = 0; i < w.size(); ++i)
    G[i] = (static_cast<double>(before[i]) - static_cast<double>(w[i])) / lr;
  return G;
}

double norm(const std::vector<double>& x) { return std::sqrt(reference::dot(x, x)); }

// p follows from one gradient; another one from the same state must fit it, and so must the
// reported residual.
void expect_identity(FullTOOptions options, std::size_t d) {
  const double lr = 0.1;
  options.lr = lr;
  options.alpha = 0.2;
  options.beta = 0.15;
  const problems::Quadratic problem = bowl_for(record("full-to"), d, 59);
  FullTO first(d, options), second(d, options);
  Model<double> model(one_part(d), problem.start());
  advance(first, model, problem, 1, 90);
  load(second, saved(first));
  const std::vector<double> w = model.weights();
  std::vector<double> g(d), h(d);
  problem.stochastic_gradient(w, 91, g);
  problem.stochastic_gradient(w, 92, h);

  const std::vector<double> G = estimate(first, w, g, lr);
  const double delta = first.last().delta;
  const double expected_delta =
      options.normalize ? 0.2 * reference::dot(w, w) / (0.01 + reference::dot(w, w)) + 0.15
                        : 0.2 * reference::dot(w, w) + 0.15;
  EXPECT_NEAR(delta, expected_delta, 1e-12);
  EXPECT_NEAR(first.last().gradient_norm, norm(g), 1e-12);
  std::vector<double> p(d), residual(d), expected(d);
  for (std::size_t i = 0; i < d; ++i) p[i] = (G[i] - delta * g[i]) / (1 - delta);
  for (std::size_t i = 0; i < d; ++i) residual[i] = g[i] - p[i];
  EXPECT_NEAR(first.last().residual_norm, norm(residual), 1e-11);

  const std::vector<double> H = estimate(second, w, h, lr);
  EXPECT_EQ(second.last().delta, delta);
  for (std::size_t i = 0; i < d; ++i) expected[i] = (1 - delta) * p[i] + delta * h[i];
  EXPECT_LE(difference(H, expected), 1e-11);
}

TEST(Identity, holds_for_full_to) {
  for (const Form form : {Form::automatic, Form::dense, Form::span})
    for (const bool normalize : {false, true})
      for (const std::size_t d : {1, 40})
        expect_identity({.form = form, .normalize = normalize}, d);
}

TEST(Identity, holds_for_diag_to_in_every_coordinate) {
  const std::size_t d = 40;
  const double lr = 0.1, alpha = 0.2, beta = 0.15;
  const DiagonalTOOptions options = {.lr = lr, .alpha = alpha, .beta = beta};
  const problems::Quadratic problem = bowl_for(record("diag-to"), d, 61);
  DiagonalTO first(d, options), second(d, options);
  Model<double> model(one_part(d), problem.start());
  advance(first, model, problem, 1, 50);
  load(second, saved(first));
  const std::vector<double> w = model.weights();
  std::vector<double> g(d), h(d);
  problem.stochastic_gradient(w, 51, g);
  problem.stochastic_gradient(w, 52, h);
  const std::vector<double> G = estimate(first, w, g, lr), H = estimate(second, w, h, lr);
  double largest = 0, square = 0;
  for (std::size_t i = 0; i < d; ++i) {
    const double delta = alpha * w[i] * w[i] + beta;
    const double p = (G[i] - delta * g[i]) / (1 - delta);
    EXPECT_NEAR(H[i], (1 - delta) * p + delta * h[i], 1e-12);
    largest = std::max(largest, delta);
    square += (g[i] - p) * (g[i] - p);
  }
  EXPECT_NEAR(first.last().delta, largest, 1e-12);
  EXPECT_NEAR(first.last().residual_norm, std::sqrt(square), 1e-11);
}

}  // namespace
}  // namespace tandem::testing
