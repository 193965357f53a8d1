// SPDX-License-Identifier: MIT
// ResNets as problems: gradients, sessions that go on to the same bits, images as they are seen,
// and data that are refused.
#include "deep/image_problem.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <gtest/gtest.h>
#include <tandem/errors.h>
#include <tandem/registry.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <sstream>

#include "deep/resnet.h"
#include "deep/resnet_loop.h"
#include "deep/test_images.h"

namespace tandem::deep::testing {
namespace {

using Part = Problem::Part;

constexpr std::uint64_t kSeed = 4;

constexpr plugin::ResNetShape kNarrow{.depth = 18, .width = 8};

/// A narrow ResNet-18, which differs from the published one in its cost alone.
std::unique_ptr<Problem> make_narrow(const std::shared_ptr<data::Task>& task) {
  return make_resnet(kNarrow, task, 0);
}

std::vector<float> started(const Problem& problem, std::uint64_t seed = kSeed) {
  std::vector<float> weights(problem.dimension());
  problem.session(seed)->start(weights);
  return weights;
}

std::string saved(const Session& session) {
  std::ostringstream stream;
  session.save(stream);
  return stream.str();
}

void load(Session& session, const std::string& state) {
  std::istringstream stream(state);
  session.load(stream);
}

/// A step of plain gradient descent; the loss before it.
double descend(Session& session, std::span<const std::uint32_t> rows, std::vector<float>& weights) {
  std::vector<float> gradient(weights.size());
  double loss = 0;
  session.batch(Part::train, rows)->gradients(1, weights.data(), gradient.data(), &loss);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.05F * gradient[i];
  return loss;
}

LossSum losses(Session& session, Part part, std::span<const std::uint32_t> rows,
               const std::vector<float>& weights) {
  session.before_measuring(weights);
  LossSum sum;
  session.batch(part, rows)->losses(1, weights.data(), &sum);
  return sum;
}

TEST(ImageProblem, SaysWhatItIs) {
  const auto problem = make_resnet({.depth = 18}, make_task(6), 0.25);
  EXPECT_EQ(problem->samples(), 6U);
  EXPECT_EQ(problem->validation_samples(), 3U);
  EXPECT_EQ(problem->lambda(), 0.25);
  EXPECT_TRUE(problem->classifies());
  EXPECT_EQ(problem->segments().size(), 62U);
  EXPECT_EQ(problem->dimension(), 11173962U);
  EXPECT_EQ(problem->description().find("ResNet-18 of width 64, 3 x 32 x 32, 10 classes, mean 0."),
            0U)
      << problem->description();
  auto task = make_task(6, 3);
  task->validation.reset();
  const auto deep = make_resnet({.depth = 50}, task, 0);
  EXPECT_EQ(deep->validation_samples(), 0U);
  const auto narrow = make_narrow(task);
  EXPECT_EQ(narrow->description().find("ResNet-18 of width 8, "), 0U) << narrow->description();
  EXPECT_LT(narrow->dimension(), 180000U);
  EXPECT_EQ(deep->description().find("ResNet-50 of width 64, 3 x 32 x 32, 3 classes"), 0U);
}

TEST(ImageProblem, GradientIsThatOfTheLoss) {
  const auto problem = make_narrow(make_task(16));
  const auto session = problem->session(kSeed);
  const std::vector<float> weights = started(*problem);
  std::vector<float> gradient(weights.size());
  std::vector<float> unused(weights.size());
  const auto batch = session->batch(Part::train, first_rows(16));
  double loss = 0;
  batch->gradients(1, weights.data(), gradient.data(), &loss);
  EXPECT_NEAR(loss, std::log(10.0), 1.5);
  EXPECT_EQ(weights, started(*problem));  // nobody wrote to them

  const std::vector<std::size_t> segments = problem->segments();
  // Along the gradient of one tensor at a time: the stem with its normalisation, convolutions of
  // 3 x 3 and 1 x 1, the linear layer.
  for (const std::size_t segment : {0U, 1U, 2U, 21U, 27U, 60U, 61U}) {
    const std::size_t first =
        std::accumulate(segments.begin(), segments.begin() + segment, std::size_t{0});
    const std::size_t last = first + segments[segment];
    double norm = 0;
    for (std::size_t i = first; i < last; ++i) {
      norm += static_cast<double>(gradient[i]) * gradient[i];
    }
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0);
    // Near enough that few units switch, far enough for the digits of a float.
    const double far = 1e-3 / norm;
    const auto loss_at = [&](double distance) {
      std::vector<float> moved = weights;
      for (std::size_t i = first; i < last; ++i) {
        moved[i] += static_cast<float>(distance / norm * gradient[i]);
      }
      double there = 0;
      batch->gradients(1, moved.data(), unused.data(), &there);
      return there;
    };
    EXPECT_NEAR((loss_at(far) - loss_at(-far)) / (2 * far) / norm, 1, 0.06) << segment;
  }
}

TEST(ImageProblem, LearnsAFewImages) {
  const auto problem = make_narrow(make_task(8, 4));
  const auto session = problem->session(1);
  std::vector<float> weights(problem->dimension());
  session->start(weights);
  const auto optimizer = make_optimizer("adam", weights.size(), {{"lr", "0.005"}});
  std::vector<float> gradient(weights.size());
  std::vector<double> all;
  for (int step = 0; step < 40; ++step) {
    double loss = 0;
    session->batch(Part::train, first_rows(8))
        ->gradients(1, weights.data(), gradient.data(), &loss);
    optimizer->step(weights, gradient);
    all.push_back(loss);
  }
  EXPECT_LT(all.back(), 0.3 * all.front()) << all.front() << " " << all.back();
}

TEST(ImageProblem, DeepNetHasAGradient) {
  const auto problem = make_resnet({.depth = 50}, make_task(2, 3), 0);
  const auto session = problem->session(kSeed);
  std::vector<float> weights(problem->dimension());
  session->start(weights);
  const double first = descend(*session, first_rows(2), weights);
  EXPECT_TRUE(std::isfinite(first));
  EXPECT_TRUE(std::isfinite(descend(*session, first_rows(2), weights)));
}

// ---- Sessions -----------------------------------------------------------------------------------

TEST(ImageSession, SameSeedSameBits) {
  const auto problem = make_narrow(make_task(4));
  std::vector<std::vector<float>> ends;
  std::vector<std::string> states;
  for (const std::uint64_t seed : {kSeed, kSeed, kSeed + 1}) {
    const auto session = problem->session(seed);
    std::vector<float> weights = started(*problem);
    for (int step = 0; step < 2; ++step) descend(*session, first_rows(4), weights);
    ends.push_back(std::move(weights));
    states.push_back(saved(*session));
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(states[0], states[1]);
  EXPECT_NE(ends[0], ends[2]);  // the same start, other crops and flips
  EXPECT_NE(states[0], states[2]);
  EXPECT_NE(started(*problem, kSeed + 1), started(*problem));
}

TEST(ImageSession, GoesOnToTheSameBits) {
  const auto problem = make_narrow(make_task(4));
  const auto session = problem->session(kSeed);
  std::vector<float> weights = started(*problem);
  descend(*session, first_rows(4), weights);
  losses(*session, Part::validation, first_rows(2), weights);
  const std::string state = saved(*session);
  const std::vector<float> middle = weights;
  for (int step = 0; step < 2; ++step) descend(*session, first_rows(4), weights);
  const LossSum end = losses(*session, Part::validation, first_rows(2), weights);

  const auto loaded = problem->session(kSeed);
  load(*loaded, state);
  EXPECT_EQ(saved(*loaded), state);
  std::vector<float> again = middle;
  for (int step = 0; step < 2; ++step) descend(*loaded, first_rows(4), again);
  EXPECT_EQ(weights, again);
  EXPECT_EQ(saved(*session), saved(*loaded));
  EXPECT_EQ(losses(*loaded, Part::validation, first_rows(2), again).loss, end.loss);

  // Without what was saved it would not be the same.
  const auto fresh = problem->session(kSeed);
  again = middle;
  for (int step = 0; step < 2; ++step) descend(*fresh, first_rows(4), again);
  EXPECT_NE(weights, again);
}

TEST(ImageSession, RefusesDamagedAndForeignStates) {
  const auto problem = make_narrow(make_task(4));
  const auto session = problem->session(kSeed);
  std::vector<float> weights = started(*problem);
  descend(*session, first_rows(4), weights);
  const std::string state = saved(*session);
  const std::string fresh = saved(*problem->session(kSeed));

  const auto expect_refused = [&](const Problem& of, std::uint64_t seed, const std::string& bytes) {
    const auto target = of.session(seed);
    const std::string before = saved(*target);
    EXPECT_THROW(load(*target, bytes), StateError);
    EXPECT_EQ(saved(*target), before);
  };
  for (std::size_t at = 0; at < state.size(); at += 7) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    expect_refused(*problem, kSeed, damaged);
    expect_refused(*problem, kSeed, state.substr(0, at));
  }
  expect_refused(*problem, kSeed + 1, state);
  expect_refused(*make_resnet({.depth = 50, .width = 8}, make_task(4), 0), kSeed, state);
  expect_refused(*make_resnet({.depth = 18, .width = 4}, make_task(4), 0), kSeed, state);
  std::ostringstream foreign;
  make_optimizer("adam", 3)->save(foreign);
  expect_refused(*problem, kSeed, foreign.str());
  EXPECT_NE(state, fresh);
}

TEST(ImageSession, EvaluationChangesNothing) {
  const auto problem = make_narrow(make_task(4));
  const auto session = problem->session(kSeed);
  std::vector<float> weights = started(*problem);
  descend(*session, first_rows(4), weights);
  const std::string before = saved(*session);
  const LossSum first = losses(*session, Part::train, first_rows(4), weights);
  const LossSum second = losses(*session, Part::train, first_rows(4), weights);
  losses(*session, Part::validation, first_rows(2), weights);
  EXPECT_EQ(first.loss, second.loss);
  EXPECT_EQ(saved(*session), before);

  // Images are judged by statistics of the training images, each by itself.
  LossSum each;
  for (std::uint32_t row = 0; row < 4; ++row) {
    each += losses(*session, Part::train, std::array{row}, weights);
  }
  EXPECT_NEAR(each.loss, first.loss, 1e-4 * first.loss);
  EXPECT_EQ(each.correct, first.correct);
}

TEST(ImageSession, MeasuresTheWeightsAndNotWhatCameBefore) {
  const auto problem = make_narrow(make_task(4));
  const auto session = problem->session(kSeed);
  std::vector<float> weights = started(*problem);
  for (int step = 0; step < 2; ++step) descend(*session, first_rows(4), weights);
  const LossSum train = losses(*session, Part::train, first_rows(4), weights);
  const LossSum held_out = losses(*session, Part::validation, first_rows(2), weights);
  // Of another seed, and without a step: the loss is a function of weights and data.
  const auto other = problem->session(kSeed + 1);
  EXPECT_EQ(losses(*other, Part::train, first_rows(4), weights).loss, train.loss);
  EXPECT_EQ(losses(*other, Part::validation, first_rows(2), weights).loss, held_out.loss);
}

TEST(ImageSession, MeasuringChangesNothingForTraining) {
  const auto problem = make_narrow(make_task(4));
  const auto measured = problem->session(kSeed);
  const auto plain = problem->session(kSeed);
  std::vector<float> weights = started(*problem);
  std::vector<float> same = weights;
  for (int step = 0; step < 3; ++step) {
    losses(*measured, Part::train, first_rows(4), weights);
    descend(*measured, first_rows(4), weights);
    descend(*plain, first_rows(4), same);
  }
  EXPECT_EQ(weights, same);
  EXPECT_EQ(saved(*measured), saved(*plain));
}

/// The loss of images that are normalised by their own batch.
double loss_by_batch(const plugin::ResNetShape& shape, const data::Task& task,
                     std::vector<float>& weights) {
  const at::NoGradGuard plain;
  const ResNet net(shape.depth, task.train.classes, shape.width);
  const auto rows = first_rows(task.train.rows);
  const at::Tensor logits = net.forward(image_tensor(task.train, check_images(task), rows, {}),
                                        net.tensors(weights.data()), {}, ResNet::Mode::training);
  return at::cross_entropy_loss(logits, label_tensor(task.train, rows)).item<double>();
}

TEST(ImageSession, AFreshNetGuesses) {
  // 128 images are one batch: its statistics and those of the whole set are the same, but for n - 1
  // in place of n.
  const auto task = make_task(128);
  for (const int depth : {18, 50}) {
    const plugin::ResNetShape shape{.depth = depth, .width = 4};
    const auto problem = make_resnet(shape, task, 0);
    const auto session = problem->session(kSeed);
    std::vector<float> weights = started(*problem);
    const double loss = losses(*session, Part::train, first_rows(128), weights).loss / 128;
    EXPECT_NEAR(loss, std::log(10.0), 1) << depth;
    EXPECT_NEAR(loss, loss_by_batch(shape, *task, weights), 0.01) << depth;
  }
}

TEST(ImageSession, LossesAreOfTheWeightsThatWereAnnounced) {
  const auto problem = make_narrow(make_task(4));
  const auto session = problem->session(kSeed);
  std::vector<float> weights = started(*problem);
  LossSum sum;
  const auto ask = [&] {
    session->batch(Part::train, first_rows(2))->losses(1, weights.data(), &sum);
  };
  EXPECT_THROW(ask(), std::logic_error);
  session->before_measuring(weights);
  EXPECT_NO_THROW(ask());
  descend(*session, first_rows(2), weights);
  EXPECT_THROW(ask(), std::logic_error);  // those statistics are of other weights
  session->before_measuring(weights);
  load(*session, saved(*session));
  EXPECT_THROW(ask(), std::logic_error);
}

TEST(StatisticsBatches, AreSpreadOverAllRows) {
  const auto all_rows = [](const std::vector<std::vector<std::uint32_t>>& batches) {
    std::vector<std::uint32_t> rows;
    for (const auto& batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  EXPECT_EQ(statistics_batches(1), (std::vector<std::vector<std::uint32_t>>{{0}}));
  EXPECT_EQ(statistics_batches(128).size(), 1U);
  const auto few = statistics_batches(129);
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[0].size(), 65U);
  EXPECT_EQ(few[0][1], 2U);  // every other row
  EXPECT_EQ(all_rows(few), first_rows(129));
  EXPECT_EQ(all_rows(statistics_batches(1024)), first_rows(1024));

  const auto many = statistics_batches(50000);
  ASSERT_EQ(many.size(), 8U);
  const std::vector<std::uint32_t> rows = all_rows(many);
  ASSERT_EQ(rows.size(), kStatisticsImages);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], i * 50000 / 1024);
  for (const auto& batch : many) {
    ASSERT_EQ(batch.size(), 128U);
    EXPECT_LT(batch.front(), 500U);
    EXPECT_GT(batch.back(), 49500U);
  }
}

TEST(ImageSession, AnotherGradientOfABatchSeesTheSameImages) {
  const auto problem = make_narrow(make_task(2));
  const auto session = problem->session(kSeed);
  const std::vector<float> weights = started(*problem);
  std::vector<float> gradient(weights.size());
  const auto batch = session->batch(Part::train, first_rows(2));
  std::array<double, 3> loss{};
  batch->gradients(1, weights.data(), gradient.data(), &loss[0]);
  batch->gradients(1, weights.data(), gradient.data(), &loss[1]);
  session->batch(Part::train, first_rows(2))
      ->gradients(1, weights.data(), gradient.data(), &loss[2]);
  EXPECT_EQ(loss[0], loss[1]);
  EXPECT_NE(loss[0], loss[2]);
}

TEST(ImageSession, WeightsAreTheCallers) {
  // More images than are evaluated at a time.
  const auto problem = make_narrow(make_task(131));
  const auto session = problem->session(kSeed);
  std::vector<float> weights = started(*problem);
  session->before_measuring(weights);
  const auto batch = session->batch(Part::train, first_rows(131));
  weights[weights.size() - 10 + 3] = 1e9F;  // the linear layer's bias of class 3
  LossSum sum;
  batch->losses(1, weights.data(), &sum);
  EXPECT_EQ(sum.correct, 13U);  // rows 3, 13, ..., 123
  weights[weights.size() - 10 + 3] = 0;
  weights[weights.size() - 10 + 0] = 1e9F;
  batch->losses(1, weights.data(), &sum);
  EXPECT_EQ(sum.correct, 14U);  // rows 0, 10, ..., 130
}

TEST(ImageSession, RefusesWhatIsNotForIt) {
  const auto problem = make_narrow(make_task(4));
  EXPECT_THROW(problem->batch(Part::train, first_rows(2)), std::logic_error);
  const auto session = problem->session(kSeed);
  const std::vector<float> start = started(*problem);
  std::vector<float> gradient(start.size());
  std::array<double, 2> rough{};
  std::array<LossSum, 2> sums;
  const float* weights = start.data();
  const auto batch = session->batch(Part::train, first_rows(2));
  EXPECT_THROW(batch->gradients(2, weights, gradient.data(), rough.data()), std::logic_error);
  EXPECT_THROW(batch->losses(2, weights, sums.data()), std::logic_error);
  EXPECT_THROW(session->batch(Part::validation, first_rows(2))
                   ->gradients(1, weights, gradient.data(), rough.data()),
               std::logic_error);
  EXPECT_THROW(session->batch(Part::train, first_rows(5)), std::invalid_argument);
  EXPECT_THROW(session->batch(Part::train, {}), std::invalid_argument);
  std::vector<float> few(7);
  EXPECT_THROW(session->start(few), std::invalid_argument);
}

// ---- Images -------------------------------------------------------------------------------------

TEST(Images, NormalisationIsThatOfTheTrainingImages) {
  const auto task = make_task(5);
  const Normalisation normalisation = check_images(*task);
  for (std::size_t c = 0; c < 3; ++c) {
    std::vector<double> values;
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t i = 0; i < 1024; ++i) {
        values.push_back(task->train.dense[row * 3072 + c * 1024 + i]);
      }
    }
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 5120;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    EXPECT_NEAR(normalisation.mean[c], mean, 1e-9);
    EXPECT_NEAR(normalisation.deviation[c], std::sqrt(squares / 5120), 1e-9);
  }
  for (float& value : task->train.dense.span()) value = 0.5F;
  EXPECT_EQ(check_images(*task).deviation[1], 1.0);
}

/// Pads, cuts, flips, one after another.
std::vector<float> plain_view(const std::vector<float>& plane, const View& view) {
  std::vector<float> padded(40 * 40, 0.0F);
  for (std::size_t y = 0; y < 32; ++y) {
    for (std::size_t x = 0; x < 32; ++x) padded[(y + 4) * 40 + x + 4] = plane[y * 32 + x];
  }
  std::vector<float> cut;
  for (std::size_t y = 0; y < 32; ++y) {
    for (std::size_t x = 0; x < 32; ++x) {
      cut.push_back(padded[(y + view.down) * 40 + x + view.right]);
    }
    if (view.flipped) std::reverse(cut.end() - 32, cut.end());
  }
  return cut;
}

TEST(Images, AreCutAndFlippedAsTheirViewsSay) {
  const auto task = make_task(6);
  const data::Dataset& data = task->train;
  const Normalisation normalisation = check_images(*task);
  const std::vector<std::uint32_t> rows = {5, 0, 3, 3};
  std::vector<View> views = {{0, 8, false}, {8, 0, true}, {4, 4, true}};
  views.push_back(random_view(kSeed, 17, 3));
  const at::Tensor seen = image_tensor(data, normalisation, rows, views);
  const at::Tensor plain = image_tensor(data, normalisation, rows, {});
  EXPECT_TRUE(seen.is_contiguous(at::MemoryFormat::ChannelsLast));
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (std::size_t c = 0; c < 3; ++c) {
      std::vector<float> plane;
      for (std::size_t i = 0; i < 1024; ++i) {
        plane.push_back(
            static_cast<float>((data.dense[rows[n] * 3072 + c * 1024 + i] - normalisation.mean[c]) /
                               normalisation.deviation[c]));
      }
      const auto at = [&](const at::Tensor& images) {
        return images[static_cast<std::int64_t>(n)][static_cast<std::int64_t>(c)].contiguous();
      };
      const at::Tensor found = at(seen);
      const at::Tensor whole = at(plain);
      const std::vector<float> expected = plain_view(plane, views[n]);
      for (std::size_t i = 0; i < 1024; ++i) {
        ASSERT_NEAR(found.data_ptr<float>()[i], expected[i], 1e-5) << n << " " << c << " " << i;
        ASSERT_EQ(found.data_ptr<float>()[i] == 0, expected[i] == 0) << n << " " << c << " " << i;
        ASSERT_NEAR(whole.data_ptr<float>()[i], plane[i], 1e-5) << n << " " << c << " " << i;
      }
    }
  }
}

TEST(Images, ViewsDependOnSeedBatchAndPlaceAlone) {
  const auto code = [](const View& view) {
    return view.down + 9 * view.right + (view.flipped ? 81U : 0U);
  };
  const auto codes = [&](std::uint64_t seed, std::uint64_t batch) {
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < 64; ++i) all.push_back(code(random_view(seed, batch, i)));
    return all;
  };
  EXPECT_EQ(codes(1, 1), codes(1, 1));
  EXPECT_NE(codes(1, 1), codes(1, 2));
  EXPECT_NE(codes(1, 1), codes(2, 1));
  std::vector<int> counts(162);
  for (std::size_t i = 0; i < 16200; ++i) ++counts[code(random_view(3, i / 100, i % 100))];
  // 100 of each are expected, give or take 10.
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 50);
  EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 150);
}

TEST(Images, ABiasColumnIsLeftOut) {
  const auto plain = make_task(3);
  const auto with_bias = make_task(3, 10, true);
  EXPECT_EQ(with_bias->train.features, 3073U);
  const auto a = image_tensor(plain->train, check_images(*plain), first_rows(3), {});
  const auto b = image_tensor(with_bias->train, check_images(*with_bias), first_rows(3), {});
  EXPECT_TRUE(a.equal(b));
}

TEST(Images, RefusesOtherData) {
  const auto expect_refused = [](const std::function<void(data::Task&)>& spoil,
                                 const std::vector<std::string>& words, bool bias = false) {
    const auto task = make_task(4, 10, bias);
    spoil(*task);
    try {
      make_resnet({.depth = 18}, task, 0);
      ADD_FAILURE() << "not refused: " << words.front();
    } catch (const std::invalid_argument& error) {
      for (const std::string& word : words) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      }
    }
  };
  expect_refused([](auto& task) { task.train.features = 784; },
                 {"training", "test images", "784", "3072"});
  expect_refused([](auto& task) { task.validation->features = 1024; }, {"validation", "1024"});
  expect_refused([](auto& task) { task.train.sparse = true; }, {"sparse", "dense"});
  expect_refused([](auto& task) { task.train.texts.resize(4); }, {"texts", "images"});
  expect_refused([](auto& task) { task.train.rows = 0; }, {"none", "at least one"});
  expect_refused([](auto& task) { task.train.labels.pop_back(); }, {"3 labels"});
  expect_refused([](auto& task) { task.train.labels[2] = 10; }, {"label 10 of row 2", "below 10"});
  expect_refused([](auto& task) { task.validation->labels[1] = 11; }, {"validation", "label 11"});
  expect_refused([](auto& task) { task.train.dense[3072 + 5] = 255; },
                 {"255 in row 1, column 5", "0 to 1"});
  expect_refused([](auto& task) { task.validation->dense[7] = -0.1F; },
                 {"-0.1 in row 0, column 7"});
  expect_refused([](auto& task) { task.train.dense[9] = std::numeric_limits<float>::quiet_NaN(); },
                 {"nan in row 0"});
  expect_refused([](auto& task) { task.train.dense[2 * 3073 + 3072] = 0.5F; },
                 {"0.5 in the last of 3073 columns, row 2"}, true);
  expect_refused(
      [](auto& task) {
        task.train.classes = 1;
        task.train.labels.assign(4, 0);
        task.validation.reset();
      },
      {"classes", "1"});
  EXPECT_THROW(make_resnet({.depth = 34}, make_task(2), 0), std::invalid_argument);
  EXPECT_THROW(make_resnet({.width = 0}, make_task(2), 0), std::invalid_argument);
  EXPECT_THROW(make_resnet({.width = 257}, make_task(2), 0), std::invalid_argument);
}

// ---- The peer -----------------------------------------------------------------------------------

TEST(ResNetLoop, TrainsAsTheProblemDoes) {
  const auto task = make_task(5);
  const auto loop = make_resnet_loop(kNarrow, *task, 2, "tandem::optim::DiagonalTO");
  loop->run(3);  // rows 0 and 1, 2 and 3, 0 and 1

  const auto problem = make_resnet(kNarrow, task, 0);
  const auto session = problem->session(1);
  std::vector<float> weights(problem->dimension());
  session->start(weights);
  const auto optimizer = make_optimizer("diag-to", weights.size(), {{"lr", "0.01"}});
  std::vector<float> gradient(weights.size());
  for (const std::uint32_t first : {0U, 2U, 0U}) {
    double loss = 0;
    session->batch(Part::train, std::array{first, first + 1})
        ->gradients(1, weights.data(), gradient.data(), &loss);
    optimizer->step(weights, gradient);
  }
  const std::vector<float> found = loop->weights();
  ASSERT_EQ(found.size(), weights.size());
  double off = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    off = std::max(off, std::abs(static_cast<double>(found[i]) - weights[i]));
  }
  EXPECT_LT(off, 1e-5);
}

TEST(ResNetLoop, HasTheOptimizersThatItSays) {
  const auto task = make_task(1);
  std::vector<float> still;
  for (const char* name : {"none", "torch::optim::SGD", "torch::optim::Adam"}) {
    const auto loop = make_resnet_loop(kNarrow, *task, 1, name);
    loop->run(1);
    if (still.empty()) {
      still = loop->weights();
    } else {
      EXPECT_NE(loop->weights(), still) << name;
    }
  }
  EXPECT_THROW(make_resnet_loop(kNarrow, *task, 1, "magic"), std::invalid_argument);
  EXPECT_THROW(make_resnet_loop({.depth = 19}, *task, 1, "none"), std::invalid_argument);
  EXPECT_THROW(make_resnet_loop(kNarrow, *task, 2, "none"), std::invalid_argument);
}

}  // namespace
}  // namespace tandem::deep::testing
