// SPDX-License-Identifier: MIT
#include "bench/population.h"

#include <fmt/format.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/memory.h"
#include "data/dataset.h"
#include "kernels/kernels.h"
#include "problems/softmax.h"
#include "train/plan.h"
#include "train/trainer.h"

namespace tandem::bench {
namespace {

using train::Setting;

struct Bench {
  const PopulationOptions& options;
  std::shared_ptr<Executor> executor;
  const Report& report;
};

/// Of 100 features `nonzeros` are other than zero, side by side as in a picture.
std::shared_ptr<const data::Task> dense_task(std::size_t rows, std::size_t features,
                                             std::size_t classes, std::size_t nonzeros = 100,
                                             float scale = 0.1F) {
  auto task = std::make_shared<data::Task>();
  data::Dataset& data = task->train;
  data.rows = rows;
  data.features = features;
  data.classes = classes;
  data.dense = Buffer<float>(rows * features);
  fill_random(*serial_executor(), data.dense.data(), data.dense.size(), 1, scale);
  for (std::size_t i = 0; i < data.dense.size(); ++i) {
    if ((i % features + i / features) % 100 >= nonzeros) data.dense[i] = 0;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    data.labels.push_back(static_cast<std::uint32_t>(i * 7 % classes));
  }
  return task;
}

std::shared_ptr<const data::Task> sparse_task(std::size_t rows, std::size_t features,
                                              std::size_t classes, std::size_t nonzeros) {
  auto task = std::make_shared<data::Task>();
  data::Dataset& data = task->train;
  data.rows = rows;
  data.features = features;
  data.classes = classes;
  data.sparse = true;
  data.offsets.push_back(0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < nonzeros; ++k) {
      data.columns.push_back(static_cast<std::uint32_t>(
          (k * features / nonzeros + (i * 2654435761U) % (features / nonzeros)) % features));
      data.values.push_back(0.1F);
    }
    data.offsets.push_back(data.columns.size());
    data.labels.push_back(static_cast<std::uint32_t>(i * 7 % classes));
  }
  return task;
}

/// The seconds of training so far of all members together: a point has a member's share.
double seconds_so_far(const train::Trainer& trainer) {
  return trainer.members()[0].points.back().seconds * static_cast<double>(trainer.members().size());
}

/// The least seconds that an epoch takes, without the measuring of losses.
double epoch_seconds(const Bench& bench, const Problem& problem,
                     const std::vector<Setting>& settings, std::size_t batch) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < bench.options.rounds; ++round) {
    train::TrainOptions options;
    options.batch = batch;
    options.epochs = 2;
    train::Trainer trainer(problem, settings, options, bench.executor);
    trainer.epoch();  // the first one allocates
    const double before = seconds_so_far(trainer);
    trainer.epoch();
    best = std::min(best, seconds_so_far(trainer) - before);
  }
  return best;
}

// ---- MNIST's shape: against the two products alone and the optimizer's bytes

void mnist_shape(const Bench& bench) {
  constexpr std::size_t kFeatures = 1025;
  constexpr std::size_t kClasses = 10;
  constexpr std::size_t kBatch = 64;
  const std::size_t members = bench.options.members;
  const std::size_t d = kFeatures * kClasses;
  const auto task = dense_task(kBatch * bench.options.steps, kFeatures, kClasses);
  const problems::SoftmaxRegression problem(task, 1e-4);

  // The products, with everything packed beforehand.
  const auto& kernels = kernels::kernels<float>();
  std::vector<const float*> rows;
  for (std::size_t n = 0; n < kBatch; ++n) rows.push_back(task->train.dense.data() + n * kFeatures);
  Buffer<float> by_feature(kernels::packed_size(kernels, kFeatures, kBatch));
  Buffer<float> by_sample(kernels::packed_size(kernels, kBatch, kFeatures));
  kernels.pack_transposed(rows.data(), kBatch, kFeatures, by_feature.data());
  kernels.pack(rows.data(), kBatch, kFeatures, by_sample.data());
  Buffer<float> weights(members * d);
  Buffer<float> logits(members * kClasses * kBatch);
  Buffer<float> gradients(members * d);
  fill_random(*bench.executor, weights.data(), weights.size(), 2, 0.1F);
  const auto products = [&] {
    parallel_ranges(*bench.executor, members, 1, [&](std::size_t first, std::size_t last) {
      const std::size_t count = (last - first) * kClasses;
      kernels.product(count, kBatch, kFeatures, weights.data() + first * d, kFeatures, 1,
                      by_feature.data(), logits.data() + first * kClasses * kBatch, kBatch);
      kernels.product(count, kFeatures, kBatch, logits.data() + first * kClasses * kBatch, kBatch,
                      1, by_sample.data(), gradients.data() + first * d, kFeatures);
    });
  };
  products();
  for (const auto& [name, bytes_each] : {std::pair("adam", 32.0), std::pair("diag-to", 32.0)}) {
    const std::vector<Setting> settings(members, Setting{name, {{"lr", "1e-4"}}});
    const auto total = static_cast<double>(members * d);
    InPlaceLimit limit(*bench.executor, static_cast<std::size_t>(16 * total));
    double product_seconds = std::numeric_limits<double>::infinity();
    double limit_seconds = product_seconds;
    for (int round = 0; round < 2 * bench.options.rounds; ++round) {
      product_seconds = std::min(product_seconds, seconds_of(products));
      limit_seconds = std::min(limit_seconds, limit.sweep(*bench.executor));
    }
    const double step =
        epoch_seconds(bench, problem, settings, kBatch) / static_cast<double>(bench.options.steps);
    const double optimizer_seconds = bytes_each * total * limit_seconds / limit.bytes();
    Row row{"mnist shape",
            fmt::format("{} members of {}, a step", members, name),
            "ms",
            step * 1e3,
            (product_seconds + optimizer_seconds) * 1e3,
            "two products + optimizer bytes at the in-place limit"};
    row.ratio = row.value / row.reference;
    row.target = "<= 1.25";
    row.met = row.ratio <= 1.25;
    bench.report.row(row);
    bench.report.note(fmt::format("{}: {:.1f} us a member and step; products {:.1f} GFLOP/s", name,
                                  step * 1e6 / static_cast<double>(members),
                                  4.0 * total * kBatch / product_seconds / 1e9));
  }
}

/// MNIST itself has 15 %. The products leave zeros out; the optimizer's pass is the same.
void mostly_zeros(const Bench& bench) {
  constexpr std::size_t kFeatures = 1025;
  constexpr std::size_t kClasses = 10;
  constexpr std::size_t kBatch = 64;
  const std::vector<Setting> settings(bench.options.members, Setting{"diag-to", {{"lr", "1e-4"}}});
  double seconds[2];
  const std::size_t nonzeros[2] = {15, 100};
  for (int i = 0; i < 2; ++i) {
    const problems::SoftmaxRegression problem(
        dense_task(kBatch * bench.options.steps, kFeatures, kClasses, nonzeros[i]), 1e-4);
    seconds[i] =
        epoch_seconds(bench, problem, settings, kBatch) / static_cast<double>(bench.options.steps);
  }
  Row row{"mnist shape",
          fmt::format("{} members of diag-to, a step, {} % of the features not zero",
                      bench.options.members, nonzeros[0]),
          "ms",
          seconds[0] * 1e3,
          seconds[1] * 1e3,
          "none is zero"};
  row.ratio = row.value / row.reference;
  bench.report.row(row);
}

/// Logits so far apart that probabilities are denormal numbers, and gradients with them.
void saturated(const Bench& bench) {
  constexpr std::size_t kFeatures = 1025;
  constexpr std::size_t kClasses = 10;
  constexpr std::size_t kBatch = 64;
  const std::vector<Setting> settings(bench.options.members, Setting{"momentum", {{"lr", "1e-9"}}});
  double seconds[2];
  const float scales[2] = {3.0F, 0.1F};  // logits of size 55 and 2
  for (int i = 0; i < 2; ++i) {
    const problems::SoftmaxRegression problem(
        dense_task(kBatch * bench.options.steps, kFeatures, kClasses, 100, scales[i]), 0);
    seconds[i] =
        epoch_seconds(bench, problem, settings, kBatch) / static_cast<double>(bench.options.steps);
  }
  Row row{"mnist shape",
          fmt::format("{} members of momentum, a step, softmax saturated", bench.options.members),
          "ms",
          seconds[0] * 1e3,
          seconds[1] * 1e3,
          "not saturated"};
  row.ratio = row.value / row.reference;
  row.target = "<= 1.10";
  row.met = row.ratio <= 1.10;
  bench.report.row(row);
}

// ---- NSL-KDD's shape: a crowd against one after another

void kdd_shape(const Bench& bench) {
  const auto task = dense_task(64 * bench.options.steps, 117, 2);
  const problems::SoftmaxRegression problem(task, 0.023);
  const std::size_t members = bench.options.small_members;
  const std::vector<Setting> settings(members, Setting{"diag-to", {{"lr", "1e-3"}}});
  const double crowd = epoch_seconds(bench, problem, settings, 64);
  // A tenth of them one after another is enough to know.
  const std::size_t few = std::max<std::size_t>(1, members / 10);
  double alone = std::numeric_limits<double>::infinity();
  for (int round = 0; round < bench.options.rounds; ++round) {
    double sum = 0;
    for (std::size_t i = 0; i < few; ++i) {
      train::TrainOptions options;
      options.epochs = 1;
      train::Trainer trainer(problem, {settings[i]}, options, bench.executor);
      trainer.epoch();
      sum += trainer.members()[0].points.back().seconds;
    }
    alone = std::min(alone, sum / static_cast<double>(few));
  }
  const auto steps = static_cast<double>(bench.options.steps);
  Row row{"kdd shape",      fmt::format("{} members at once", members),
          "member-steps/s", static_cast<double>(members) * steps / crowd,
          steps / alone,    "one after another"};
  row.ratio = row.value / row.reference;
  row.target = ">= 4";
  row.met = row.ratio >= 4;
  bench.report.row(row);

  // Two thirds that diverge in the first epoch.
  std::vector<Setting> mixed = settings;
  for (std::size_t i = 0; i < members; ++i) {
    if (i % 3 != 0) mixed[i] = {"sgd", {{"lr", "1e30"}}};
  }
  double mixed_seconds = std::numeric_limits<double>::infinity();
  double whole_seconds = mixed_seconds;
  for (int round = 0; round < bench.options.rounds; ++round) {
    train::TrainOptions options;
    options.epochs = 1;
    train::Trainer some(problem, mixed, options, bench.executor);
    some.epoch();
    mixed_seconds = std::min(mixed_seconds, seconds_so_far(some));
    train::Trainer all(problem, settings, options, bench.executor);
    all.epoch();
    whole_seconds = std::min(whole_seconds, seconds_so_far(all));
  }
  Row diverged{"kdd shape",
               "two thirds diverge in epoch 1",
               "ms",
               mixed_seconds * 1e3,
               whole_seconds * 1e3,
               "none diverges"};
  diverged.ratio = diverged.value / diverged.reference;
  diverged.target = "< 0.5";
  diverged.met = diverged.ratio < 0.5;
  bench.report.row(diverged);
}

// ---- 20 Newsgroups' shape: time in proportion to the non-zeros

void news_shape(const Bench& bench) {
  constexpr std::size_t kFeatures = 20'000;
  constexpr std::size_t kClasses = 20;
  constexpr std::size_t kMembers = 8;
  const std::vector<Setting> settings(kMembers, Setting{"diag-to", {{"lr", "1e-3"}}});
  double seconds[2];
  const std::size_t nonzeros[2] = {50, 200};
  for (int i = 0; i < 2; ++i) {
    const auto task = sparse_task(64 * bench.options.steps, kFeatures, kClasses, nonzeros[i]);
    const problems::SoftmaxRegression problem(task, 1e-4);
    seconds[i] = epoch_seconds(bench, problem, settings, 64) /
                 static_cast<double>(bench.options.steps * kMembers);
  }
  const double per_nonzero =
      (seconds[1] - seconds[0]) / static_cast<double>(64 * (nonzeros[1] - nonzeros[0]) * kClasses);
  Row row{"news20 shape",
          fmt::format("{} x {}, {} non-zeros a sample, a member's step", kFeatures, kClasses,
                      nonzeros[1]),
          "us",
          seconds[1] * 1e6,
          seconds[0] * 1e6,
          fmt::format("{} non-zeros a sample", nonzeros[0])};
  row.ratio = row.value / row.reference;
  bench.report.row(row);
  bench.report.note(fmt::format(
      "news20 shape: {:.2f} ns a non-zero and class, both ways; {:.0f} us for the rest, "
      "which is mostly the optimizer's pass over {} weights",
      per_nonzero * 1e9,
      (seconds[0] - per_nonzero * 64 * static_cast<double>(nonzeros[0] * kClasses)) * 1e6,
      kFeatures * kClasses));
}

// ---- memory against the plan

void memory(const Bench& bench) {
  const auto task = dense_task(64 * 4, 1025, 10);
  const problems::SoftmaxRegression problem(task, 1e-4);
  const std::vector<Setting> settings(4 * bench.options.members, Setting{"diag-to", {}});
  const train::Plan plan = train::make_plan(problem, settings, ~std::size_t{0});
  reset_peak();
  const double before = peak_bytes();
  {
    train::TrainOptions options;
    options.epochs = 1;
    train::Trainer trainer(problem, settings, options, bench.executor);
    trainer.epoch();
  }
  Row row{"memory",
          fmt::format("peak of {} members of diag-to", settings.size()),
          "MB",
          (peak_bytes() - before) / 1e6,
          static_cast<double>(plan.peak_bytes) / 1e6,
          "what the plan announced"};
  row.ratio = row.value / row.reference;
  row.target = "<= 1.2";
  row.met = row.ratio <= 1.2;
  bench.report.row(row);
}

}  // namespace

void run_population_bench(const PopulationOptions& options, const Report& report) {
  const Bench bench{options, pool_executor(options.threads), report};
  report.note(
      fmt::format("{} threads, {}, tandem {}", bench.executor->threads(), cpu_target(), version()));
  mnist_shape(bench);
  mostly_zeros(bench);
  saturated(bench);
  kdd_shape(bench);
  news_shape(bench);
  memory(bench);
}

}  // namespace tandem::bench
