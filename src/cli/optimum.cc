// SPDX-License-Identifier: MIT
// `tandem optimum`: F* and w* of softmax regression on a data set.
#include <fmt/format.h>
#include <tandem/executor.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "base/atomic_file.h"
#include "bench/measure.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/task_options.h"
#include "cli/values.h"
#include "report/table.h"
#include "study/optimum.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  TaskOptions task;
  double lambda = 0;
  double tolerance = 1e-9;
  std::size_t most_iterations = 20'000;
  std::filesystem::path save;
};

void print(const Options& options, const data::Dataset& data, const study::Optimum& optimum,
           double seconds) {
  report::Table table({{"softmax regression"}, {options.task.data, report::Table::Align::right}});
  table.add({"samples", std::to_string(data.rows)});
  table.add({"weights", fmt::format("{} x {}", data.classes, data.features)});
  table.add({"lambda", fmt::format("{}", options.lambda)});
  table.add({"F*", fmt::format("{:.15g}", optimum.loss)});
  table.add({"|gradient|", fmt::format("{:.3g}", optimum.gradient_norm)});
  if (options.lambda > 0) {
    // Strong convexity.
    const double gap = optimum.gradient_norm * optimum.gradient_norm / (2 * options.lambda);
    table.add({"above the optimum by at most", fmt::format("{:.1g}", gap)});
  }
  table.add({"iterations", std::to_string(optimum.iterations)});
  table.add({"evaluations", std::to_string(optimum.evaluations)});
  table.add({"seconds", fmt::format("{:.2f}", seconds)});
  write_result(table.terminal());
}

int run_optimum(const Options& options, const Common& common) {
  const data::Task task = load_task(options.task, common.seed);
  study::Optimum optimum;
  const double seconds = bench::seconds_of([&] {
    optimum = study::find_optimum(task, options.lambda, options.tolerance, *default_executor(),
                                  options.most_iterations);
  });
  if (!options.save.empty()) {
    write_atomically(options.save, [&](std::ostream& stream) {
      study::save_optimum(stream, task, options.lambda, optimum);
    });
  }
  if (common.json) {
    write_json(Json{{"event", "optimum"},
                    {"data", options.task.data},
                    {"fingerprint", fmt::format("{:016x}", task.train.fingerprint())},
                    {"lambda", options.lambda},
                    {"loss", optimum.loss},
                    {"gradient_norm", optimum.gradient_norm},
                    {"tolerance", options.tolerance},
                    {"converged", optimum.converged},
                    {"iterations", optimum.iterations},
                    {"evaluations", optimum.evaluations},
                    {"seconds", seconds}});
  } else {
    print(options, task.train, optimum, seconds);
  }
  if (optimum.converged) return kDone;
  print_message(
      "tandem: |gradient| is {:.3g}, expected {:.3g} or less: {}{}\n", optimum.gradient_norm,
      options.tolerance,
      optimum.iterations >= options.most_iterations
          ? fmt::format("stopped after {} iterations (--max-iterations)", optimum.iterations)
          : "rounding allows no more progress",
      options.lambda > 0 ? "" : "; with --lambda 0 there may be no minimum");
  return kFailed;
}

}  // namespace

void add_optimum(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("optimum",
                         "Example: tandem optimum --data nsl-kdd --lambda 0.023\n\n"
                         "The smallest loss that softmax regression with cross entropy can reach "
                         "on a data set, found in double precision by L-BFGS.");
  add_task_options(*command, options->task);
  command->add_option("--lambda", options->lambda, "lambda/2 |w|^2 is added to the loss")
      ->check(number(0, kMostNumber))
      ->required();
  command->add_option("--tolerance", options->tolerance, "Norm of the gradient to stop at")
      ->check(number(0, kMostNumber))
      ->capture_default_str();
  command->add_option("--max-iterations", options->most_iterations, "Stop after so many")
      ->check(whole(0, kMostCount))
      ->capture_default_str();
  command->add_option("--save", options->save, "File for the weights");
  command->callback([options, &common, &job] {
    job = [options, &common] { return run_optimum(*options, common); };
  });
}

}  // namespace tandem::cli
