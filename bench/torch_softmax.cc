// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench/measure.h"
#include "bench/torch_parts.h"
#include "data/dataset.h"
#include "data/synthetic.h"
#include "problems/softmax.h"
#include "train/trainer.h"

namespace tandem::bench {
namespace {

constexpr std::size_t kBatch = 64;

struct Shape {
  const char* data;  // the recipe
  std::map<std::string, std::string> data_options;
  std::size_t features;  // without the bias
  std::size_t classes;
  double target;  // times as many steps of a member
};

/// The same rows for both sides.
struct Rows {
  std::string origin;
  std::shared_ptr<const data::Task> task;  // ours: the bias is a column of ones, the last
  std::vector<float> features;             // LibTorch's: without it
  std::vector<std::int64_t> labels;

  plugin::Samples samples() const {
    return {task->train.features - 1, task->train.classes, features, labels};
  }
};

/// The first rows of a data set, without a validation part.
data::Dataset first_rows(const data::Dataset& all, std::size_t rows) {
  data::Dataset some;
  some.name = all.name;
  some.rows = std::min(rows, all.rows / kBatch * kBatch);
  some.features = all.features;
  some.classes = all.classes;
  some.class_names = all.class_names;
  some.dense = Buffer<float>(some.rows * some.features);
  std::copy_n(all.dense.data(), some.dense.size(), some.dense.data());
  some.labels.assign(all.labels.begin(),
                     all.labels.begin() + static_cast<std::ptrdiff_t>(some.rows));
  return some;
}

data::Dataset real_or_made(const TorchContext& context, const Shape& shape, std::size_t rows,
                           std::string& origin) {
  try {
    data::LoadOptions load;
    load.search = context.options.data_folders;
    load.options = shape.data_options;
    const data::Task task = data::load_task(shape.data, load);
    origin = shape.data;
    return first_rows(task.train, rows);
  } catch (const data::DataError& error) {
    const std::string message = error.what();
    context.report.note(fmt::format("{}: generated data of its shape, because: {}", shape.data,
                                    message.substr(0, message.find('\n'))));
    origin = fmt::format("generated, {}'s shape", shape.data);
    return data::make_synthetic(
        {.rows = rows, .features = shape.features, .classes = shape.classes, .bias = true});
  }
}

Rows rows_of(const TorchContext& context, const Shape& shape) {
  Rows rows;
  auto task = std::make_shared<data::Task>();
  task->train = real_or_made(context, shape, kBatch * context.options.steps, rows.origin);
  const data::Dataset& data = task->train;
  for (std::size_t i = 0; i < data.rows; ++i) {
    const float* row = data.dense.data() + i * data.features;
    rows.features.insert(rows.features.end(), row, row + data.features - 1);
  }
  rows.labels.assign(data.labels.begin(), data.labels.end());
  rows.task = std::move(task);
  return rows;
}

/// Adam with rates from 1e-4 to 1e-2.
std::vector<train::Setting> population(std::size_t members) {
  std::vector<train::Setting> settings;
  for (std::size_t i = 0; i < members; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(members);
    settings.push_back({"adam", {{"lr", fmt::format("{:.6g}", std::pow(10.0, -4 + 2 * part))}}});
  }
  return settings;
}

/// How far LibTorch's weights are from ours after the same steps, relative to their size. Not the
/// largest difference: a gradient that cancels out but for rounding moves a weight by Adam's whole
/// rate.
double difference(const TorchContext& context, const Rows& rows,
                  const problems::SoftmaxRegression& problem) {
  constexpr double kRate = 1e-3;
  const data::Dataset& data = rows.task->train;
  train::TrainOptions options;
  options.batch = kBatch;
  options.epochs = 1;
  options.init = train::Init::zeros;
  options.shuffle = false;
  train::Trainer trainer(problem, {{"adam", {{"lr", fmt::format("{}", kRate)}}}}, options,
                         context.executor);
  trainer.epoch();
  const std::span<const float> ours = trainer.weights(0);

  std::vector<std::int64_t> order(data.rows);
  std::iota(order.begin(), order.end(), 0);
  const auto loop = context.torch.softmax(rows.samples(), order, kBatch, kRate);
  loop->run(data.rows / kBatch);
  const std::vector<float> theirs = loop->weights();

  double squares = 0;
  double off = 0;
  for (std::size_t c = 0; c < data.classes; ++c) {
    for (std::size_t j = 0; j < data.features; ++j) {
      const bool bias = j + 1 == data.features;
      const double their = theirs[bias ? data.classes * j + c : c * (data.features - 1) + j];
      const double our = ours[c * data.features + j];
      squares += their * their;
      off += (our - their) * (our - their);
    }
  }
  return std::sqrt(off / squares);
}

struct Times {
  Rounds ours;  // of one member: its share of the whole
  Rounds theirs;
  Rounds theirs_on_one;  // with one thread, which may be faster than with all
};

Times race(const TorchContext& context, const Rows& rows,
           const problems::SoftmaxRegression& problem) {
  const data::Dataset& data = rows.task->train;
  const std::size_t steps = data.rows / kBatch;
  const std::size_t members = context.options.members;
  const int threads = context.executor->threads();

  train::TrainOptions options;
  options.batch = kBatch;
  options.epochs = static_cast<std::size_t>(context.options.rounds) + 1;
  train::Trainer trainer(problem, population(members), options, context.executor);
  trainer.epoch();  // the first one allocates

  const auto shuffled = Random(1, 1).permutation(data.rows);
  const std::vector<std::int64_t> order(shuffled.begin(), shuffled.end());
  const auto loop = context.torch.softmax(rows.samples(), order, kBatch, 1e-3);
  const auto time_loop = [&](int loop_threads, Rounds& rounds) {
    context.set_threads(loop_threads);
    loop->run(1);
    rounds.time([&] { loop->run(steps); });
    context.set_threads(threads);
  };

  Times times;
  for (int round = 0; round < context.options.rounds; ++round) {
    const double before = trainer.members()[0].points.back().seconds;
    trainer.epoch();
    times.ours.add(trainer.members()[0].points.back().seconds - before);
    time_loop(threads, times.theirs);
    time_loop(1, times.theirs_on_one);
  }
  if (trainer.alive() != members) {
    throw std::runtime_error(fmt::format("{} of {} members left the population, expected none",
                                         members - trainer.alive(), members));
  }
  return times;
}

void measure(const TorchContext& context, const Shape& shape) {
  const Rows rows = rows_of(context, shape);
  const data::Dataset& data = rows.task->train;
  const problems::SoftmaxRegression problem(rows.task, 0);
  const std::size_t steps = data.rows / kBatch;
  const auto count = static_cast<double>(steps);
  const int threads = context.executor->threads();

  const Times times = race(context, rows, problem);
  const auto report = [&](int loop_threads, const Rounds& theirs) {
    Row row{"softmax",
            fmt::format("{} members of adam, {}: {} x {}", context.options.members, rows.origin,
                        data.features, data.classes),
            "member-steps/s",
            count / times.ours.best(),
            count / theirs.best(),
            fmt::format("the loop in LibTorch, threads: {}", loop_threads)};
    row.ratio = row.value / row.reference;
    row.target = fmt::format(">= {}", shape.target);
    row.met = row.ratio >= shape.target;
    context.report.row(row);
  };
  report(threads, times.theirs);
  if (threads > 1) report(1, times.theirs_on_one);
  context.report.note(fmt::format(
      "{}: {} rows, batches of {}; medians of {} rounds: {:.1f}, on one thread {:.1f}", rows.origin,
      data.rows, kBatch, context.options.rounds, times.ours.median_gain_on(times.theirs),
      times.ours.median_gain_on(times.theirs_on_one)));

  Row same{"softmax",
           fmt::format("{}: weights after {} steps", rows.origin, steps),
           "difference",
           difference(context, rows, problem),
           1,
           "LibTorch's weights"};
  same.ratio = same.value;
  same.target = "<= 0.001";
  same.met = same.ratio <= 0.001;
  context.report.row(same);
}

}  // namespace

void torch_softmax(const TorchContext& context) {
  measure(context, {"mnist", {{"pad", "0"}}, 784, 10, 6});
  measure(context, {"nsl-kdd", {}, 116, 2, 40});
}

}  // namespace tandem::bench
