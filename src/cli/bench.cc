// SPDX-License-Identifier: MIT
// `tandem bench`: speed as ratios to the machine's limits and to peers, measured in one run.
#include <fmt/format.h>
#include <tandem/tandem.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/population.h"
#include "bench/step.h"
#include "cli/command.h"
#include "report/table.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  bench::StepOptions step;
  bench::PopulationOptions population;
  bool quick = false;
  bool markdown = false;
};

Json to_json(const bench::Row& row) {
  return {{"event", "measurement"}, {"part", row.part},   {"name", row.name},
          {"unit", row.unit},       {"value", row.value}, {"reference", row.reference},
          {"against", row.against}, {"ratio", row.ratio}, {"target", row.target},
          {"met", row.met}};
}

/// Runs a benchmark and prints what it reports: lines of JSON as they come, or a table at the end.
int run_bench(const std::function<void(const bench::Report&)>& bench, bool markdown,
              const Common& common) {
  report::Table table({{"measured"},
                       {"value", report::Table::Align::right},
                       {"reference", report::Table::Align::right},
                       {"unit"},
                       {"against"},
                       {"ratio", report::Table::Align::right},
                       {"target"}});
  std::string notes;
  bench::Report report;
  report.row = [&](const bench::Row& row) {
    if (common.json) {
      fmt::print("{}\n", to_json(row).dump());
      std::fflush(stdout);
      return;
    }
    if (!common.quiet) fmt::print(stderr, "measured {}\n", row.name);
    table.add({row.name, fmt::format("{:.4g}", row.value), fmt::format("{:.4g}", row.reference),
               row.unit, row.against, fmt::format("{:.2f}", row.ratio),
               row.target.empty() || row.met ? row.target : row.target + " MISSED"});
  };
  report.note = [&](const std::string& note) {
    if (common.json) {
      fmt::print("{}\n", Json{{"event", "note"}, {"text", note}}.dump());
    } else {
      notes += note + "\n";
    }
  };
  bench(report);
  if (!common.json) {
    fmt::print("{}\n{}", markdown ? table.markdown() : table.terminal(), notes);
  }
  return kDone;
}

int run_step(const Options& options, const Common& common) {
  bench::StepOptions step = options.step;
  step.threads = common.threads;
  if (options.quick) {
    step.parameters = 4'000'000;
    step.dense = 2'048;
    step.span = 200'000;
    step.span_steps = 100;
    step.rounds = 3;
  }
  return run_bench([&](const bench::Report& report) { bench::run_step_bench(step, report); },
                   options.markdown, common);
}

int run_population(const Options& options, const Common& common) {
  bench::PopulationOptions population = options.population;
  population.threads = common.threads;
  return run_bench(
      [&](const bench::Report& report) { bench::run_population_bench(population, report); },
      options.markdown, common);
}

}  // namespace

void add_bench(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* bench = app.add_subcommand(
      "bench",
      "Example: tandem bench step\n\nSpeed, as ratios to the machine's limits and to peers.");
  CLI::App* step = bench->add_subcommand(
      "step",
      "Example: tandem bench step --json\n\n"
      "One step of each rule against `x += c*y`, a read of the matrix, a BLAS, plain loops.");
  bench->fallthrough();
  step->add_option("--parameters", options->step.parameters, "Dimension of the elementwise rules")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 34))
      ->capture_default_str();
  step->add_option("--dense", options->step.dense, "Dimension of Full-TO's dense form")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 17))
      ->capture_default_str();
  step->add_option("--span", options->step.span, "Dimension of Full-TO's span form")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->capture_default_str();
  step->add_option("--span-steps", options->step.span_steps, "Steps of the span form")
      ->capture_default_str();
  step->add_option("--rounds", options->step.rounds, "Rounds; the best counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  step->add_flag("--quick", options->quick, "Small sizes: does it run, not how fast");
  step->add_flag("--markdown", options->markdown, "The table as Markdown");
  step->callback([options, &common, &job] {
    job = [options, &common] { return run_step(*options, common); };
  });
  CLI::App* population = bench->add_subcommand(
      "population",
      "Example: tandem bench population --json\n\n"
      "Training many settings at once against the products alone, and against one after another.");
  population->add_option("--members", options->population.members, "Members of the MNIST shape")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  population
      ->add_option("--small-members", options->population.small_members,
                   "Members of the NSL-KDD shape")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  population->add_option("--steps", options->population.steps, "Steps a measurement")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  population->add_option("--rounds", options->population.rounds, "Rounds; the best counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  population->add_flag("--markdown", options->markdown, "The table as Markdown");
  population->callback([options, &common, &job] {
    job = [options, &common] { return run_population(*options, common); };
  });
}

}  // namespace tandem::cli
