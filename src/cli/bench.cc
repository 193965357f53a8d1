// SPDX-License-Identifier: MIT
// `tandem bench`: speed as ratios to the machine's limits and to peers, measured in one run.
#include <fmt/format.h>
#include <tandem/tandem.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/deep.h"
#include "bench/population.h"
#include "bench/runs.h"
#include "bench/step.h"
#include "bench/store.h"
#include "bench/torch.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/values.h"
#include "data/dataset.h"
#include "models/resnet_model.h"
#include "plugin/load.h"
#include "report/table.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  bench::StepOptions step;
  bench::PopulationOptions population;
  bench::TorchOptions torch;
  bench::DeepOptions deep;
  bench::StoreOptions store;
  bench::RunsOptions runs;
  std::filesystem::path data_dir;
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
      write_json(to_json(row));
      return;
    }
    if (!common.quiet) print_message("measured {}\n", row.name);
    table.add({row.name, fmt::format("{:.4g}", row.value), fmt::format("{:.4g}", row.reference),
               row.unit, row.against, fmt::format("{:.2f}", row.ratio),
               row.target.empty() || row.met ? row.target : row.target + " MISSED"});
  };
  report.note = [&](const std::string& note) {
    if (common.json) {
      write_json(Json{{"event", "note"}, {"text", note}});
    } else {
      notes += note + "\n";
    }
  };
  bench(report);
  if (!common.json) {
    print_result("{}\n{}", markdown ? table.markdown() : table.terminal(), notes);
  }
  return kDone;
}

int run_step(const Options& options, const Common& common) {
  bench::StepOptions step = options.step;
  step.threads = common.threads;
  if (options.quick) {
    step.parameters = 4'000'000;
    step.decayed = 200'000;
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

int run_store(const Options& options, const Common& common) {
  bench::StoreOptions store = options.store;
  if (options.quick) {
    store.units = {20, 100};
    store.workers = {2};
  }
  return run_bench([&](const bench::Report& report) { bench::run_store_bench(store, report); },
                   options.markdown, common);
}

void add_store(CLI::App& bench, const std::shared_ptr<Options>& options, const Common& common,
               Job& job) {
  CLI::App* store = bench.add_subcommand(
      "store",
      "Example: tandem bench store --units 100,10000 --json\n\n"
      "What a unit of work costs in the run store, against the number of units and of workers.");
  store->add_option("--store", options->store.location,
                    std::string(kStoreHelp) + " [a temporary file]; what is added is removed");
  store->add_option("--units", options->store.units, "Units of the studies, one after the other")
      ->delimiter(',')
      ->check(whole(1, std::size_t{1} << 24))
      ->capture_default_str();
  store->add_option("--workers", options->store.workers, "Workers at once, compared with one")
      ->delimiter(',')
      ->check(whole(1, 1000))
      ->capture_default_str();
  store->add_option("--points", options->store.points, "Measurements of a unit's one member")
      ->check(whole(0, std::size_t{1} << 20))
      ->capture_default_str();
  store->add_flag("--quick", options->quick, "Small sizes: does it run, not how fast");
  store->add_flag("--markdown", options->markdown, "The table as Markdown");
  store->callback([options, &common, &job] {
    job = [options, &common] { return run_store(*options, common); };
  });
}

int run_runs(const Options& options, const Common& common) {
  bench::RunsOptions runs = options.runs;
  if (runs.keep && runs.location.empty()) {
    throw std::invalid_argument("--keep needs --store: a temporary file is removed");
  }
  if (options.quick) {
    runs.runs = {20, 40};
    runs.points = 5;
  }
  return run_bench([&](const bench::Report& report) { bench::run_runs_bench(runs, report); },
                   options.markdown, common);
}

void add_runs(CLI::App& bench, const std::shared_ptr<Options>& options, const Common& common,
              Job& job) {
  CLI::App* runs =
      bench.add_subcommand("runs",
                           "Example: tandem bench runs --runs 1000,100000 --points 100\n\n"
                           "What a report of many runs costs, in time and memory.");
  runs->add_option("--store", options->runs.location,
                   std::string(kStoreHelp) + " [a temporary file]; what is added is removed");
  runs->add_option("--runs", options->runs.runs, "Runs of the studies, one after the other")
      ->delimiter(',')
      ->check(whole(1, std::size_t{1} << 24))
      ->capture_default_str();
  runs->add_option("--points", options->runs.points, "Measurements of each run")
      ->check(whole(2, std::size_t{1} << 20))
      ->capture_default_str();
  runs->add_flag("--keep", options->runs.keep,
                 "Leaves the studies in the store, for `tandem report` and `tandem serve`");
  runs->add_flag("--quick", options->quick, "Small sizes: does it run, not how fast");
  runs->add_flag("--markdown", options->markdown, "The table as Markdown");
  runs->callback([options, &common, &job] {
    job = [options, &common] { return run_runs(*options, common); };
  });
}

/// In LibTorch's own programs OpenMP's threads spin for milliseconds before they sleep, as is
/// libgomp's default. Here they sleep at once (main.cc says why), and with that a step of
/// torch::optim::Adam took twice the time. libgomp reads the variable when it is loaded, with the
/// plug-in; GOMP_SPINCOUNT=0 keeps it as it is.
void let_threads_spin() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  if (policy == nullptr || std::string(policy) != "passive") return;
  setenv("GOMP_SPINCOUNT", "300000", 0);
}

int run_torch(const Options& options, const Common& common) {
  let_threads_spin();
  const plugin::Plugin& plugin = plugin::load_torch();
  bench::TorchOptions torch = options.torch;
  torch.threads = common.threads;
  torch.data_folders = data::search_folders(options.data_dir);
  if (options.quick) {
    torch.parameters = 600'000;
    torch.small_steps = 10;
    torch.many_tensors = 20;
    torch.members = 16;
    torch.steps = 10;
    torch.rounds = 1;
  }
  return run_bench(
      [&](const bench::Report& report) { bench::run_torch_bench(plugin, torch, report); },
      options.markdown, common);
}

void add_torch(CLI::App& bench, const std::shared_ptr<Options>& options, const Common& common,
               Job& job) {
  CLI::App* torch = bench.add_subcommand(
      "torch",
      "Example: tandem bench torch --json\n\n"
      "Our optimizers in LibTorch against its own, and a population against a loop in LibTorch.");
  torch->add_option("--parameters", options->torch.parameters, "Weights of the large model")
      ->check(whole(1, std::size_t{1} << 34))
      ->capture_default_str();
  torch->add_option("--tensors", options->torch.tensors, "Its tensors")
      ->check(whole(1, std::size_t{1} << 20))
      ->capture_default_str();
  torch->add_option("--members", options->torch.members, "Members of the population")
      ->check(whole(1, std::size_t{1} << 20))
      ->capture_default_str();
  torch->add_option("--steps", options->torch.steps, "Steps of training a measurement")
      ->check(whole(1, std::size_t{1} << 20))
      ->capture_default_str();
  torch->add_option("--rounds", options->torch.rounds, "Rounds; the best counts")
      ->check(whole(1, 1000))
      ->capture_default_str();
  torch->add_option("--data-dir", options->data_dir, "Where mnist and nsl-kdd may be");
  torch->add_flag("--quick", options->quick, "Small sizes: does it run, not how fast");
  torch->add_flag("--markdown", options->markdown, "The table as Markdown");
  torch->callback([options, &common, &job] {
    job = [options, &common] { return run_torch(*options, common); };
  });
}

int run_deep(const Options& options, const Common& common) {
  models::parse_resnet(options.deep.resnet);  // refuses a name before the plug-in is loaded
  let_threads_spin();
  bench::DeepOptions deep = options.deep;
  if (options.quick) {
    deep.batch = 2;
    deep.steps = 1;
    deep.rounds = 1;
    deep.llama_dim = 24;
    deep.llama_layers = 2;
    deep.llama_vocabulary = 64;
    deep.llama_tokens = 8;
  }
  return run_bench(
      [&](const bench::Report& report) {
        bench::run_deep_bench(plugin::load_torch(), deep, report);
      },
      options.markdown, common);
}

void add_deep(CLI::App& bench, const std::shared_ptr<Options>& options, const Common& common,
              Job& job) {
  CLI::App* deep = bench.add_subcommand(
      "deep",
      "Example: tandem bench deep --json\n\n"
      "Steps of a ResNet against a bare loop in LibTorch; a part of a Llama against all of it.");
  deep->add_option("--model", options->deep.resnet, "resnet18 or resnet50, also resnet18:width=8")
      ->capture_default_str();
  deep->add_option("--batch", options->deep.batch, "Images a step")
      ->check(whole(1, std::size_t{1} << 16))
      ->capture_default_str();
  deep->add_option("--steps", options->deep.steps, "Steps of the ResNet a measurement")
      ->check(whole(1, std::size_t{1} << 20))
      ->capture_default_str();
  deep->add_option("--rounds", options->deep.rounds, "Rounds; the best counts")
      ->check(whole(1, 1000))
      ->capture_default_str();
  deep->add_flag("--quick", options->quick, "Small sizes: does it run, not how fast");
  deep->add_flag("--markdown", options->markdown, "The table as Markdown");
  deep->callback([options, &common, &job] {
    job = [options, &common] { return run_deep(*options, common); };
  });
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
      ->check(whole(1, std::size_t{1} << 34))
      ->capture_default_str();
  step->add_option("--dense", options->step.dense, "Dimension of Full-TO's dense form")
      ->check(whole(1, std::size_t{1} << 17))
      ->capture_default_str();
  step->add_option("--span", options->step.span, "Dimension of Full-TO's span form")
      ->check(whole(1, std::size_t{1} << 30))
      ->capture_default_str();
  step->add_option("--span-steps", options->step.span_steps, "Steps of the span form")
      ->check(whole(1, kMostCount))
      ->capture_default_str();
  step->add_option("--rounds", options->step.rounds, "Rounds; the best counts")
      ->check(whole(1, 1000))
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
      ->check(whole(1, std::size_t{1} << 20))
      ->capture_default_str();
  population
      ->add_option("--small-members", options->population.small_members,
                   "Members of the NSL-KDD shape")
      ->check(whole(1, std::size_t{1} << 20))
      ->capture_default_str();
  population->add_option("--steps", options->population.steps, "Steps a measurement")
      ->check(whole(1, std::size_t{1} << 20))
      ->capture_default_str();
  population->add_option("--rounds", options->population.rounds, "Rounds; the best counts")
      ->check(whole(1, 1000))
      ->capture_default_str();
  population->add_flag("--markdown", options->markdown, "The table as Markdown");
  population->callback([options, &common, &job] {
    job = [options, &common] { return run_population(*options, common); };
  });
  add_torch(*bench, options, common, job);
  add_deep(*bench, options, common, job);
  add_store(*bench, options, common, job);
  add_runs(*bench, options, common, job);
}

}  // namespace tandem::cli
