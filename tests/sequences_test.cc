// SPDX-License-Identifier: MIT
// Exact sequences: every rule for three steps from values that fit on paper, so that a reader can
// follow the numbers. Gradients are given, not computed; most values are exact in binary.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cmath>
#include <sstream>
#include <utility>
#include <vector>

namespace tandem {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Steps over `gradients` from `w` and compares with `expected` after each.
template <class Class>
void expect_sequence(Class optimizer, std::vector<double> w, const Rows& gradients,
                     const Rows& expected, double tolerance = 1e-15) {
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    optimizer.step(w, gradients[t]);
    for (std::size_t i = 0; i < w.size(); ++i)
      EXPECT_NEAR(w[i], expected[t][i], tolerance) << "after step " << t + 1 << ", weight " << i;
  }
}

// r = (2, 0), A = ((.5, .5), (0, 0)), b = (1, 0), G = (2, 0) | p = (1.5, 0), r = (-.5, 1),
// A = ((.5, .375), (0, .25)), b = (.75, .5), G = (1.125, .75) | ...
TEST(Sequence, full_to) {
  for (const Form form : {Form::automatic, Form::dense, Form::span})
    expect_sequence(FullTO(2, {.lr = 0.5, .alpha = 0.25, .beta = 0.5, .form = form}), {1, 1},
                    {{2, 0}, {1, 1}, {0, -1}},
                    {{0, 1}, {-0.5625, 0.625}, {-0.67613983154296875, 0.8573150634765625}}, 1e-14);
}

// r = (4, 2), a = (2, -.5), b = (2, 1), G = (6, 1.5) | p = (0, 1.875), r = (0, -1.875),
// a = (2, .3203125), b = (2, .0625), G = (0, -.498046875) | ...
TEST(Sequence, diag_to) {
  expect_sequence(DiagonalTO(2, {.lr = 0.5, .alpha = 0.25, .beta = 0.5}), {2, -1},
                  {{4, 2}, {0, 0}, {1, -1}},
                  {{-1, -1.75}, {-1, -1.5009765625}, {-1.375, -0.9825847600959605}});
}

// c = w_1 / |w_1|^2 = (1, 0), s = 1, r = (2, 1), a = (1, .5), b = (1, .5), G = (2, 1) | s = 0,
// r = (0, .5), q = r.a = .25, c = (1, -.0625), b = (1, .75), c.w = .03125,
// G = (1.03125, .765625) | ...
TEST(Sequence, ro_to) {
  expect_sequence(
      RankOneTO(2, {.lr = 0.5, .alpha = 0.5, .beta = 0.5}), {1, 0}, {{2, 1}, {1, 1}, {-1, 2}},
      {{0, -0.5}, {-0.515625, -0.8828125}, {-0.035970068433181845, -1.5579532568326302}});
}

// From w_1 = 0, with gradients that add up to 0 as those of softmax regression do: c = 0 leaves
// a = 0, b alone moves. Then c = w / |w| = (-1, 1, -1, 1)/2 and s = 2: r = b = (1, -1, 1, -1) = a,
// b = 1.5 r, G = 2 a + b.
TEST(Sequence, ro_to_from_zero) {
  const Rows gradients{{2, -2, 2, -2}, {2, -2, 2, -2}};
  expect_sequence(RankOneTO(4, {.lr = 1, .alpha = 0.5, .beta = 0.5}), {0, 0, 0, 0}, gradients,
                  {{-1, 1, -1, 1}, {-4.5, 4.5, -4.5, 4.5}});
  // It waits as long as the weights do not move, and a saved state waits too.
  RankOneTO waiting(4, {.lr = 1, .alpha = 0.5, .beta = 0.5});
  std::vector<double> w(4, 0.0);
  waiting.step(w, std::vector<double>(4, 0.0));
  std::stringstream state;
  waiting.save(state);
  RankOneTO loaded(4, {.lr = 1, .alpha = 0.5, .beta = 0.5});
  loaded.load(state);
  expect_sequence(std::move(loaded), w, gradients, {{-1, 1, -1, 1}, {-4.5, 4.5, -4.5, 4.5}});
}

// Two blocks, (w_1, w_2) and (w_3): Full-TO's numbers beside Diag-TO's.
TEST(Sequence, block_to) {
  expect_sequence(BlockTO(3, {.lr = 0.5, .alpha = 0.25, .beta = 0.5, .block = 2}), {1, 1, -1},
                  {{2, 0, 2}, {1, 1, 0}, {0, -1, -1}},
                  {{0, 1, -1.75},
                   {-0.5625, 0.625, -1.5009765625},
                   {-0.67613983154296875, 0.8573150634765625, -0.9825847600959605}});
}

// G = 6, v = 4, v_hat = 16: D = 1.5 | ...
TEST(Sequence, adam_to) {
  expect_sequence(AdamTO(1, {.lr = 0.5, .alpha = 0.25, .beta = 0.5, .beta2 = 0.75}), {2},
                  {{4}, {0}, {-2}}, {{1.25}, {1.1560213968807884}, {1.4925454753564487}}, 1e-8);
}

TEST(Sequence, sgd) {
  expect_sequence(SGD(1, {.lr = 0.5}), {1}, {{1}, {2}, {-1}}, {{0.5}, {-0.5}, {0}});
}

// b = .5, 1.25, .125
TEST(Sequence, momentum) {
  expect_sequence(Momentum(1, {.lr = 1, .momentum = 0.5}), {1}, {{1}, {2}, {-1}},
                  {{0.5}, {-0.75}, {-0.875}});
}

// b = 1, 2.5, .25
TEST(Sequence, momentum_as_torch) {
  expect_sequence(Momentum(1, {.lr = 1, .momentum = 0.5, .form = MomentumForm::torch}), {1},
                  {{1}, {2}, {-1}}, {{0}, {-2.5}, {-2.75}});
}

// D = g + b/2 = 1.5, 3.25, -.875
TEST(Sequence, nesterov) {
  expect_sequence(Nesterov(1, {.lr = 1, .momentum = 0.5}), {1}, {{1}, {2}, {-1}},
                  {{-0.5}, {-3.75}, {-2.875}});
}

// v = 9, 25, 25
TEST(Sequence, adagrad) {
  expect_sequence(Adagrad(1, {.lr = 1}), {1}, {{3}, {4}, {0}}, {{0}, {-0.8}, {-0.8}}, 1e-9);
  expect_sequence(Adagrad(1, {.lr = 1, .initial_accumulator = 16}), {1}, {{3}, {0}}, {{0.4}, {0.4}},
                  1e-9);
}

// v = 1, .75, .8125
TEST(Sequence, rmsprop) {
  expect_sequence(RMSProp(1, {.lr = 1, .beta2 = 0.75}), {1}, {{2}, {0}, {1}},
                  {{-1}, {-1}, {-1 - 1 / std::sqrt(0.8125)}}, 1e-7);
}

// m_hat = 2, 2, -1.25 / .875; v_hat = 4, 4, 5.3125 / .578125
TEST(Sequence, adam) {
  expect_sequence(Adam(1, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75}), {1}, {{2}, {2}, {-4}},
                  {{0}, {-1}, {-0.5287369783929428}}, 1e-7);
}

// m = 1, v_hat = 4 | m = 2, v = 1
TEST(Sequence, adam_without_corrections) {
  expect_sequence(Adam(1, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75, .correct_first = false}), {1},
                  {{2}}, {{0.5}}, 1e-7);
  expect_sequence(Adam(1, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75, .correct_second = false}), {1},
                  {{2}}, {{-1}}, 1e-7);
}

// Adam's directions, and half of w taken away each time.
TEST(Sequence, adamw) {
  expect_sequence(AdamW(1, {.lr = 1, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.5}), {1},
                  {{2}, {2}, {-4}}, {{-0.5}, {-1.25}, {-0.1537369783929428}}, 1e-7);
}

// beta1 m + (1 - beta1) g = 1, 0, -.375: the sign of 0 is 0. m = .5, .25, -.0625.
TEST(Sequence, lion) {
  expect_sequence(Lion(1, {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75}), {1}, {{2}, {-0.5}, {-1}},
                  {{0.5}, {0.5}, {1}});
}

// ---- What all rules share -----------------------------------------------------------------------

TEST(Sequence, rate_by_step) {
  expect_sequence(SGD(1, {.lr = Schedule::inverse(6, 1)}), {1}, {{1}, {1}, {1}},
                  {{-2}, {-4}, {-5.5}});
}

TEST(Sequence, rate_by_epoch) {
  SGD optimizer(1, {.lr = 1, .decay = 0.5});
  std::vector<double> w = {1}, g = {1};
  optimizer.step(w, g);
  EXPECT_EQ(w[0], 0);
  optimizer.epoch_end();
  optimizer.step(w, g);
  EXPECT_EQ(w[0], -0.5);
  optimizer.epoch_end();
  optimizer.step(w, g);
  EXPECT_EQ(w[0], -0.75);
}

// decay moves alpha and beta of the trainable rules: beta = 1, then .5.
TEST(Sequence, decay_moves_beta) {
  DiagonalTO optimizer(1, {.lr = 1, .alpha = 0, .beta = 1, .decay = 0.5});
  std::vector<double> w = {0}, g = {4};
  optimizer.step(w, g);
  EXPECT_EQ(w[0], -4);  // b = 4
  optimizer.epoch_end();
  g[0] = 0;
  optimizer.step(w, g);
  EXPECT_EQ(w[0], -5);  // b = 2, lr = .5
}

// ... and never momentum.
TEST(Sequence, decay_leaves_momentum) {
  Momentum optimizer(1, {.lr = 1, .decay = 0.5, .momentum = 0.5});
  std::vector<double> w = {0}, g = {4};
  optimizer.step(w, g);
  EXPECT_EQ(w[0], -2);  // b = 2
  optimizer.epoch_end();
  optimizer.step(w, g);
  EXPECT_EQ(w[0], -3.5);  // b = 3, lr = .5
}

// g + l2 w = 1 + .5 * 2 | 1 + .5 * 1
TEST(Sequence, l2) {
  expect_sequence(SGD(1, {.lr = 0.5, .l2 = 0.5}), {2}, {{1}, {1}}, {{1}, {0.25}});
}

// (1 - .5 * .5) w - .5 g
TEST(Sequence, weight_decay) {
  expect_sequence(SGD(1, {.lr = 0.5, .weight_decay = 0.5}), {2}, {{1}, {1}}, {{1}, {0.25}});
}

TEST(Sequence, ball) {
  expect_sequence(SGD(2, {.lr = 1, .projection = Projection::ball(5)}), {0, 0},
                  {{-6, -8}, {3, 0}, {0, -4}}, {{3, 4}, {0, 4}, {0, 5}});
}

TEST(Sequence, box) {
  expect_sequence(SGD(3, {.lr = 1, .projection = Projection::box(-1, 2)}), {0, 0, 0},
                  {{-6, 8, 1}, {0.5, -0.5, 0}}, {{2, -1, -1}, {1.5, -0.5, -1}});
}

TEST(Sequence, segments_with_rates_of_their_own) {
  SGD optimizer({SegmentSpec{.size = 1}, SegmentSpec{.size = 1, .lr = 0.5},
                 SegmentSpec{.size = 1, .weight_decay = 0.5}},
                {.lr = 1, .weight_decay = 0.25});
  std::vector<double> w = {8, 8, 8}, g = {1, 1, 1};
  std::vector<Segment<double>> segments;
  for (std::size_t i = 0; i < 3; ++i)
    segments.push_back({std::span(w).subspan(i, 1), std::span<const double>(g).subspan(i, 1)});
  optimizer.step(segments);
  EXPECT_EQ(w, (std::vector<double>{5, 6.5, 3}));
}

}  // namespace
}  // namespace tandem
