// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/torch_parts.h"

namespace tandem::bench {
namespace {

constexpr const char* kAdam = "torch::optim::Adam";

struct Contender {
  const char* name;    // in tandem::optim
  const char* twin;    // the same rule in torch::optim, or null
  std::size_t arrays;  // weights, gradient and state
  double bytes;        // a weight and step: what the rule must move, the check included
  double target;       // times faster than torch::optim::Adam on the large model; 0: none
};

constexpr Contender kContenders[] = {
    {"Adam", kAdam, 4, 32, 4},
    {"DiagonalTO", nullptr, 4, 32, 4},
    {"RankOneTO", nullptr, 5, 48, 3},
    {"AdamTO", nullptr, 5, 40, 0},
    {"AdamW", "torch::optim::AdamW", 4, 32, 0},
    {"Momentum", "torch::optim::SGD", 3, 24, 0},
};

/// Sizes, weights and gradient of a model's tensors.
struct Model {
  std::vector<std::size_t> sizes;
  Buffer<float> weights;
  Buffer<float> gradient;

  Model(Executor& executor, std::size_t parameters, std::size_t tensors)
      : weights(parameters), gradient(parameters) {
    for (std::size_t i = 0; i < tensors; ++i) {
      sizes.push_back(parameters * (i + 1) / tensors - parameters * i / tensors);
    }
    fill_random(executor, weights.data(), parameters, 1, 0.1F);
    fill_random(executor, gradient.data(), parameters, 2, 0.1F);
  }
};

/// An optimizer with tensors of its own, and the times of its rounds.
struct Runner {
  std::unique_ptr<plugin::StepLoop> loop;
  Rounds rounds;

  Runner(const TorchContext& context, const std::string& name, const Model& model)
      : loop(context.torch.optimizer(name, {model.sizes,
                                            {model.weights.data(), model.weights.size()},
                                            {model.gradient.data(), model.gradient.size()}})) {
    loop->run(2);  // state is made in the first step
  }
  void time(std::size_t steps) {
    rounds.time([&] { loop->run(steps); });
  }
};

/// "Adam: 4.12": what the rounds say beside the best of them.
std::string median_text(const std::string& name, double gain) {
  return fmt::format("{}: {:.2f}", name, gain);
}

Row gain_row(const std::string& part, const std::string& name, const std::string& unit,
             double units_a_second, double steps, const Rounds& ours, const Rounds& theirs,
             const std::string& against, double target) {
  Row row{part,
          name,
          unit,
          ours.best() / steps * units_a_second,
          theirs.best() / steps * units_a_second,
          against + ", times faster"};
  row.ratio = theirs.best() / ours.best();
  if (target > 0) {
    row.target = fmt::format(">= {}", target);
    row.met = row.ratio >= target;
  }
  return row;
}

// ---- a large model

void large(const TorchContext& context) {
  const TorchOptions& options = context.options;
  const std::size_t d = options.parameters;
  const auto count = static_cast<double>(d);
  const Model model(*context.executor, d, options.tensors);
  Runner adam(context, kAdam, model);
  std::string medians;
  for (const Contender& contender : kContenders) {
    Runner ours(context, std::string("tandem::optim::") + contender.name, model);
    std::unique_ptr<Runner> twin;
    if (contender.twin != nullptr && contender.twin != kAdam) {
      twin = std::make_unique<Runner>(context, contender.twin, model);
    }
    InPlaceLimit limit(*context.executor, contender.arrays * d * sizeof(float));
    limit.sweep(*context.executor);
    Rounds limits;
    adam.rounds = {};
    for (int round = 0; round < options.rounds; ++round) {
      limits.add(limit.sweep(*context.executor));
      ours.time(1);
      adam.time(1);
      if (twin) twin->time(1);
    }
    context.report.row(gain_row("large", contender.name, "ms", 1e3, 1, ours.rounds, adam.rounds,
                                kAdam, contender.target));
    if (twin) {
      context.report.row(gain_row("large", contender.name, "ms", 1e3, 1, ours.rounds, twin->rounds,
                                  contender.twin, 0));
    }
    const auto bandwidth = [&](const std::string& name, double bytes, const Rounds& rounds) {
      Row row{"large",
              fmt::format("{}: {:.0f} MB a step", name, bytes * count / 1e6),
              "GB/s",
              bytes * count / rounds.best() / 1e9,
              limit.bytes() / limits.best() / 1e9,
              "x += c*y, same total size"};
      row.ratio = row.value / row.reference;
      context.report.row(row);
    };
    bandwidth(contender.name, contender.bytes, ours.rounds);
    // What torch's must move: no check. What it moves is more.
    if (contender.twin == kAdam) bandwidth(kAdam, contender.bytes - 4, adam.rounds);
    medians += (medians.empty() ? "" : ", ") +
               median_text(contender.name, ours.rounds.median_gain_on(adam.rounds));
  }
  context.report.note(
      fmt::format("{} weights in {} tensors; medians of {} rounds, times faster than "
                  "{}: {}",
                  d, options.tensors, options.rounds, kAdam, medians));
}

// ---- a small model

void small(const TorchContext& context) {
  const TorchOptions& options = context.options;
  const auto steps = static_cast<double>(options.small_steps);
  const Model model(*context.executor, options.small_tensors * options.small,
                    options.small_tensors);
  std::string medians;
  for (const Contender& contender : kContenders) {
    const std::string rival = contender.twin != nullptr ? contender.twin : kAdam;
    Runner ours(context, std::string("tandem::optim::") + contender.name, model);
    Runner theirs(context, rival, model);
    for (int round = 0; round < options.rounds; ++round) {
      ours.time(options.small_steps);
      theirs.time(options.small_steps);
    }
    context.report.row(gain_row(
        "small",
        fmt::format("{}, {} tensors of {}", contender.name, options.small_tensors, options.small),
        "us", 1e6, steps, ours.rounds, theirs.rounds, rival, 1));
    medians += (medians.empty() ? "" : ", ") +
               median_text(contender.name, ours.rounds.median_gain_on(theirs.rounds));
  }
  context.report.note(fmt::format("{} tensors of {}; medians of {} rounds of {} steps: {}",
                                  options.small_tensors, options.small, options.rounds,
                                  options.small_steps, medians));
}

// ---- rates that a scheduler moves before each step

void scheduled(const TorchContext& context) {
  const TorchOptions& options = context.options;
  // A difference of some percent is looked for: pieces in turns on the same tensors, so short that
  // other work on the machine leaves some of them alone, and as many steps in all as elsewhere.
  const std::size_t steps = std::min<std::size_t>(options.small_steps, 4);
  const std::size_t pieces =
      static_cast<std::size_t>(4 * options.rounds) * options.small_steps / steps;
  const Model model(*context.executor, options.many_tensors * options.small, options.many_tensors);
  for (const Contender& contender : kContenders) {
    Runner still(context, std::string("tandem::optim::") + contender.name, model);
    Rounds moved;
    still.loop->run_scheduled(2);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      still.time(steps);
      moved.time([&] { still.loop->run_scheduled(steps); });
    }
    Row row{"scheduled",
            fmt::format("{}, {} tensors of {}, lr moved before each step", contender.name,
                        options.many_tensors, options.small),
            "us",
            moved.best() / static_cast<double>(steps) * 1e6,
            still.rounds.best() / static_cast<double>(steps) * 1e6,
            "lr as it was"};
    row.ratio = row.value / row.reference;
    row.target = "<= 1.05";
    row.met = row.ratio <= 1.05;
    context.report.row(row);
  }
}

}  // namespace

void torch_steps(const TorchContext& context) {
  large(context);
  small(context);
  scheduled(context);
}

}  // namespace tandem::bench
