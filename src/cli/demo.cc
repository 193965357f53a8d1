// SPDX-License-Identifier: MIT
// `tandem demo`: all rules on a logistic regression whose optimum is known, each tuned on a small
// grid with one order of mini-batches and measured on others.
#include <fmt/format.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "bench/measure.h"
#include "cli/command.h"
#include "problems/logistic.h"
#include "report/table.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kSteps = 2000;
constexpr std::uint64_t kStepsPerEpoch = 100;
constexpr std::uint64_t kMeasuredSeeds = 5;

struct Run {
  double gap = std::numeric_limits<
      double>::infinity();       // F - F* after the last step; infinite if it diverged
  double optimizer_seconds = 0;  // spent in steps alone
};

Run train(const problems::Logistic& problem, const std::string& name, const OptionMap& options,
          std::uint64_t seed) {
  auto optimizer = make_optimizer(name, problem.dimension(), options);
  optimizer->set_executor(serial_executor());
  std::vector<double> w = problem.start();
  std::vector<double> g(w.size());
  Run run;
  for (std::uint64_t t = 1; t <= kSteps; ++t) {
    // Which samples a step sees depends on its number alone: other numbers, another order.
    problem.stochastic_gradient(w, seed * kSteps + t, g);
    try {
      run.optimizer_seconds += bench::seconds_of([&] { optimizer->step(w, g); });
    } catch (const NonFiniteGradient&) {
      return {};
    }
    if (t % kStepsPerEpoch == 0) optimizer->epoch_end();
  }
  const double gap = problem.loss(w) - problem.optimum_loss();
  if (std::isfinite(gap)) run.gap = std::max(gap, 0.0);
  return run;
}

/// Every combination of the listed values.
std::vector<OptionMap> grid(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& axes) {
  std::vector<OptionMap> settings{{}};
  for (const auto& [option, values] : axes) {
    std::vector<OptionMap> longer;
    for (const OptionMap& setting : settings) {
      for (const std::string& value : values) {
        longer.push_back(setting);
        longer.back()[option] = value;
      }
    }
    settings = std::move(longer);
  }
  return settings;
}

std::vector<OptionMap> grid_of(const OptimizerInfo& info) {
  const std::vector<std::string> rates = {"0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"};
  const std::vector<std::string> decays = {"1", "0.8"};
  if (!info.trainable) return grid({{"lr", rates}, {"decay", decays}});
  return grid({{"lr", rates},
               {"decay", decays},
               {"alpha", {"0.001", "0.01", "0.1"}},
               {"beta", {"0.1", "0.5"}}});
}

struct Result {
  std::string name;
  OptionMap options;
  std::size_t settings = 0;
  std::size_t diverged = 0;  // settings that did, while tuning
  double gap = 0;            // mean over the measured seeds
  double nanoseconds = 0;    // a step, at best
  std::size_t state_bytes = 0;
};

Result compare(const problems::Logistic& problem, const OptimizerInfo& info, std::uint64_t seed) {
  const std::vector<OptionMap> settings = grid_of(info);
  std::vector<Run> tuned(settings.size());
  const auto executor = default_executor();
  parallel_ranges(*executor, settings.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      tuned[i] = train(problem, info.name, settings[i], seed);
    }
  });
  const auto best = std::min_element(tuned.begin(), tuned.end(),
                                     [](const Run& a, const Run& b) { return a.gap < b.gap; });
  Result result;
  result.name = info.name;
  result.options = settings[static_cast<std::size_t>(best - tuned.begin())];
  result.settings = settings.size();
  result.diverged = static_cast<std::size_t>(std::count_if(
      tuned.begin(), tuned.end(), [](const Run& run) { return !std::isfinite(run.gap); }));
  result.nanoseconds = std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 1; i <= kMeasuredSeeds; ++i) {
    const Run run = train(problem, info.name, result.options, seed + i);
    result.gap += run.gap / kMeasuredSeeds;
    result.nanoseconds = std::min(result.nanoseconds, run.optimizer_seconds / kSteps * 1e9);
  }
  auto optimizer = make_optimizer(info.name, problem.dimension(), result.options);
  result.state_bytes = 2 * optimizer->state_bytes();  // double weights
  return result;
}

std::string text_of(const OptionMap& options) {
  std::string text;
  for (const char* key : {"lr", "alpha", "beta", "decay"}) {
    const auto found = options.find(key);
    if (found == options.end() || (found->first == "decay" && found->second == "1")) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, found->second);
  }
  return text;
}

int run_demo(const Common& common) {
  const problems::Logistic problem(
      {.dimension = 50, .samples = 2000, .batch = 20, .l2 = 0.01, .seed = common.seed});
  const double start_gap = problem.loss(problem.start()) - problem.optimum_loss();
  if (!common.json && !common.quiet) {
    fmt::print(
        "Logistic regression: 50 weights, 2000 samples, mini-batches of 20, {} steps.\n"
        "F* = {:.6f}, found by Newton's method; at the start F - F* = {:.4f}.\n"
        "Each rule is tuned on one order of mini-batches and measured on {} others.\n\n",
        kSteps, problem.optimum_loss(), start_gap, kMeasuredSeeds);
  }
  std::vector<Result> results;
  for (const OptimizerInfo& info : optimizer_infos()) {
    results.push_back(compare(problem, info, common.seed * 1000));
    const Result& result = results.back();
    if (common.json) {
      fmt::print("{}\n", Json{{"optimizer", result.name},
                              {"options", result.options},
                              {"settings", result.settings},
                              {"diverged", result.diverged},
                              {"gap", result.gap},
                              {"step_nanoseconds", result.nanoseconds},
                              {"state_bytes", result.state_bytes}}
                             .dump());
    }
  }
  if (common.json) return kDone;
  std::stable_sort(results.begin(), results.end(),
                   [](const Result& a, const Result& b) { return a.gap < b.gap; });
  using Align = report::Table::Align;
  report::Table table({{"optimizer"},
                       {"F - F*", Align::right},
                       {"best of", Align::right},
                       {"diverged", Align::right},
                       {"ns/step", Align::right},
                       {"state", Align::right},
                       {"options"}});
  for (const Result& result : results) {
    table.add({result.name, fmt::format("{:.2e}", result.gap), std::to_string(result.settings),
               std::to_string(result.diverged), fmt::format("{:.0f}", result.nanoseconds),
               fmt::format("{} B", result.state_bytes), text_of(result.options)});
  }
  fmt::print("{}", table.terminal());
  if (!common.quiet) {
    fmt::print(
        "\nMore settings make a best one likelier: compare the `best of` column too. With alpha = "
        "0\n"
        "full-to, diag-to and block-to are momentum.\n");
  }
  return kDone;
}

}  // namespace

void add_demo(CLI::App& app, const Common& common, Job& job) {
  CLI::App* command = app.add_subcommand(
      "demo",
      "Example: tandem demo\n\nAll rules on a problem with a known optimum: a table of how near "
      "they get.");
  command->callback([&common, &job] { job = [&common] { return run_demo(common); }; });
}

}  // namespace tandem::cli
