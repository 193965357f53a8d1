// SPDX-License-Identifier: MIT
// `tandem paper estimators`: tasks, drivers and budgets; trajectories run side by side.
#include "cli/paper_estimators.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <tandem/executor.h>
#include <tandem/version.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "base/shell_word.h"
#include "base/suggest.h"
#include "bench/measure.h"
#include "cli/output.h"
#include "cli/paper_study.h"
#include "cli/progress.h"
#include "cli/values.h"
#include "data/dataset.h"
#include "paper/estimator_comparison.h"
#include "paper/estimator_error.h"
#include "paper/report/estimator_tables.h"
#include "study/task_loader.h"
#include "train/trainer.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;
using paper::EstimatorRun;
using paper::TrajectoryErrors;

/// Constant rates of the drivers.
struct Rates {
  const char* adam;
  const char* momentum;  // and of sgd: momentum averages gradients, so its steps are as long
};

/// The rates are those with the least training loss among the constant ones of the paper's grids, on
/// the tuning seed of the studies in docs/results. Those of Fashion-MNIST, and of MNIST with lambda =
/// 0 from zeros, are the best after two epochs of `tandem train`.
struct EstimatorTask {
  const char* data;
  const char* model;
  double lambda;
  std::size_t epochs;  // of --budget full
  Rates normal;
  Rates zeros;
};

constexpr EstimatorTask kTasks[] = {
    {"nsl-kdd", "logistic", 0.023, 5, {"0.002", "0.05"}, {"0.001", "0.02"}},
    {"nsl-kdd", "logistic", 0.97, 5, {"0.001", "0.002"}, {"5e-05", "0.001"}},
    {"nsl-kdd", "ffn:10", 0, 5, {"0.02", "0.5"}, {nullptr, nullptr}},
    {"covtype", "logistic", 5e-4, 2, {"0.005", "0.2"}, {"0.001", "0.05"}},
    {"mnist", "logistic", 0, 2, {"0.005", "0.5"}, {"0.005", "0.5"}},
    {"mnist", "logistic", 0.034, 2, {"0.002", "0.05"}, {"0.0002", "0.02"}},
    {"fashion-mnist", "logistic", 0, 2, {"0.005", "0.5"}, {"0.005", "0.2"}},
};

/// Full-TO's matrix of each setting, at 1000 weights: 4 MB.
constexpr std::size_t kMostWeightsOfFull = 1000;

/// Measured steps of an epoch: the last of each tenth.
constexpr std::size_t kPoints = 10;

const std::vector<std::string> kDrivers = {"adam", "momentum", "sgd"};
const std::vector<double> kAlphas = {1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1};
const std::vector<double> kBetas = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};

struct Budget {
  std::vector<std::string> drivers;
  std::size_t seeds;
  std::size_t epochs_divisor;  // of the task's epochs
  std::size_t beta_step;       // of every so many betas one
};

Budget budget_of(const EstimatorOptions& options) {
  Budget budget =
      options.budget == "full" ? Budget{kDrivers, 5, 1, 1} : Budget{{kDrivers.front()}, 3, 2, 2};
  if (!options.drivers.empty()) budget.drivers = options.drivers;
  if (options.seeds) budget.seeds = *options.seeds;
  return budget;
}

std::vector<double> every(const std::vector<double>& values, std::size_t step) {
  std::vector<double> some;
  for (std::size_t i = 0; i < values.size(); i += step) some.push_back(values[i]);
  return some;
}

bool is_net(const EstimatorTask& task) { return std::string(task.model) != "logistic"; }

/// Throws for a data set that no task has.
std::vector<EstimatorTask> wanted_tasks(const EstimatorOptions& options) {
  std::vector<EstimatorTask> tasks;
  std::vector<std::string> known;
  const auto contains = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const EstimatorTask& task : kTasks) {
    if (!contains(known, task.data)) known.emplace_back(task.data);
    if (!options.data.empty() && !contains(options.data, task.data)) continue;
    if (options.start == "zeros" && is_net(task)) continue;
    tasks.push_back(task);
  }
  for (const std::string& data : options.data) {
    if (contains(known, data)) continue;
    throw std::invalid_argument(fmt::format("Invalid --data: estimators has no data set '{}'{}",
                                            data, suggestion(data, known)));
  }
  return tasks;
}

/// Without folders, which are each reader's own.
std::string command_of(const EstimatorOptions& options, const Common& common) {
  std::string text = fmt::format("tandem paper estimators --budget {}", options.budget);
  if (options.start != "normal") text += " --start " + options.start;
  for (const std::string& data : options.data) text += " --data " + shell_word(data);
  for (const std::string& driver : options.drivers) text += " --driver " + driver;
  if (options.epochs) text += fmt::format(" --epochs {}", *options.epochs);
  if (options.seeds) text += fmt::format(" --seeds {}", *options.seeds);
  if (common.seed != Common{}.seed) text += fmt::format(" --seed {}", common.seed);
  return text;
}

class Estimators {
 public:
  Estimators(const EstimatorOptions& options, const Common& common)
      : options_(options),
        common_(common),
        budget_(budget_of(options)),
        tasks_(wanted_tasks(options)),
        loader_(options.data_dir, {}, common.seed),
        progress_(!common.quiet) {
    results_.command = command_of(options, common);
    if (options.budget == "quick") {
      results_.note =
          "Quick: half the epochs, three seeds, one driver and every second beta; `--budget "
          "full` has all of them.";
    }
    if (options.start == "zeros") {
      results_.note += results_.note.empty() ? "" : " ";
      results_.note += "From weights of zero; nets are left out, because they do not learn there.";
    }
  }

  int run() {
    catch_interrupts();
    make_out_folder(options_.out);
    try {
      const double seconds = bench::seconds_of([&] {
        for (const EstimatorTask& task : tasks_) run_task(task);
      });
      show();
      if (!options_.out.empty()) write(seconds);
      if (common_.json) {
        write_json(Json{{"event", "done"}, {"seconds", seconds}});
      } else {
        say(progress_, common_, fmt::format("{}: {}", results_.command, duration_text(seconds)));
      }
    } catch (const train::Interrupted&) {
      progress_.clear();
      print_message("tandem: interrupted{}\n",
                    options_.out.empty() ? "" : "; no files were written");
      return kInterrupted;
    }
    return results_.runs.empty() ? kData : kDone;
  }

 private:
  void run_task(const EstimatorTask& task) {
    const bool missing = std::any_of(results_.missing.begin(), results_.missing.end(),
                                     [&](const auto& entry) { return entry.first == task.data; });
    if (missing) return;  // said once
    std::shared_ptr<const Problem> problem;
    try {
      study::TaskSpec spec;
      spec.data = task.data;
      spec.model = task.model;
      spec.lambda = task.lambda;
      problem = loader_.problem(spec);
    } catch (const data::DataError& error) {
      results_.missing.emplace_back(task.data, error.what());
      say(progress_, common_, fmt::format("{}: no data: {}", task.data, error.what()));
      return;
    }
    EstimatorRun run = plan(task, *problem);
    say(progress_, common_,
        fmt::format("{}: drivers: {}, seeds: {}, epochs: {}", paper::task_title(run),
                    budget_.drivers.size(), run.seeds, run.options.epochs));
    run.seconds = bench::seconds_of([&] { measure(task, *problem, run); });
    progress_.clear();
    if (common_.json) {
      for (const Json& line : paper::estimator_events(run)) write_json(line);
    }
    results_.runs.push_back(std::move(run));
  }

  EstimatorRun plan(const EstimatorTask& task, const Problem& problem) const {
    EstimatorRun run;
    run.data = task.data;
    run.model = task.model;
    run.lambda = task.lambda;
    run.start = options_.start;
    run.dimension = problem.dimension();
    run.seeds = budget_.seeds;
    run.options.epochs =
        options_.epochs.value_or(std::max<std::size_t>(1, task.epochs / budget_.epochs_divisor));
    run.options.seed = common_.seed;
    run.options.init = options_.start == "zeros" ? train::Init::zeros : train::Init::normal;
    run.steps = problem.samples() / run.options.batch;
    // A data set of a few batches has no more steps to measure.
    run.options.points = std::clamp<std::size_t>(run.steps, 1, kPoints);
    run.grid.alphas = kAlphas;
    run.grid.betas = every(kBetas, budget_.beta_step);
    run.grid.rules = {"full-to", "diag-to", "ro-to"};
    if (run.dimension > kMostWeightsOfFull) {
      run.grid.rules.erase(run.grid.rules.begin());
      run.left_out = {"full-to"};
    }
    return run;
  }

  train::Setting driver_of(const EstimatorTask& task, const std::string& name) const {
    const Rates& rates = options_.start == "zeros" ? task.zeros : task.normal;
    return {name, {{"lr", name == "adam" ? rates.adam : rates.momentum}}};
  }

  /// Each seed of each driver is a task of its own: what it gives depends on nothing else.
  void measure(const EstimatorTask& task, const Problem& problem, EstimatorRun& run) {
    const std::vector<paper::EstimatorSetting> settings = paper::settings_of(run.grid);
    const std::size_t seeds = run.seeds;
    const std::size_t trajectories = budget_.drivers.size() * seeds;
    const auto parts = static_cast<double>(trajectories * run.options.epochs * run.options.points);
    std::atomic<std::size_t> asked = 0;
    paper::TrajectoryOptions options = run.options;
    options.proceed = [&] {
      const std::size_t done = asked++;
      if (const std::unique_lock lock(drawing_, std::try_to_lock); lock && progress_.due()) {
        progress_.show(static_cast<double>(done) / parts, paper::task_title(run));
      }
      return !interrupted();
    };
    std::vector<TrajectoryErrors> errors(trajectories);
    run_tasks(*default_executor(), trajectories, [&](std::size_t i) {
      paper::TrajectoryOptions own = options;
      own.seed += i % seeds;
      errors[i] = paper::measure_trajectory(problem, driver_of(task, budget_.drivers[i / seeds]),
                                            settings, own);
    });
    for (std::size_t d = 0; d < budget_.drivers.size(); ++d) {
      const auto first = errors.begin() + static_cast<std::ptrdiff_t>(d * seeds);
      const std::vector<TrajectoryErrors> own(first, first + static_cast<std::ptrdiff_t>(seeds));
      run.drivers.push_back({.driver = driver_of(task, budget_.drivers[d]),
                             .comparisons = paper::compare_estimators(settings, own),
                             .profile = paper::profile_alphas(settings, own)});
    }
  }

  void show() {
    progress_.clear();
    if (common_.json) {
      for (const auto& [data, why] : results_.missing) {
        write_json(Json{{"event", "no data"}, {"data", data}, {"why", why}});
      }
      return;
    }
    if (results_.runs.empty()) return;
    print_result("{}", paper::estimator_table(results_.runs).terminal());
    for (const EstimatorRun& run : results_.runs) {
      print_result("\n{}, quotients by epoch\n{}", paper::task_title(run),
                   paper::estimator_epochs(run).terminal());
    }
    print_result("\n{}\n", paper::estimator_summary(results_.runs));
    if (common_.quiet) return;
    if (!results_.note.empty()) print_note(results_.note);
    for (const std::string& note : paper::estimator_notes(results_.runs)) print_note(note);
  }

  void write(double seconds) {
    results_.facts = {
        {"tandem", version()},
        {"machine", machine_description()},
        {"threads", std::to_string(default_executor()->threads())},
        {"time", duration_text(seconds)},
        {"written", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)))}};
    std::string name = "estimators";
    if (options_.start != "normal") name += "-" + options_.start;
    if (options_.budget == "quick") name += "-quick";
    const auto put = [&](const std::string& file, const std::string& text) {
      write_atomically(options_.out / file, [&](std::ostream& stream) { stream << text; });
    };
    put(name + ".md", paper::estimator_page(results_));
    put(name + ".csv", paper::estimator_csv(results_.runs).csv());
    put(name + "-alpha.csv", paper::alpha_csv(results_.runs).csv());
    say(progress_, common_,
        fmt::format("{0}.md, {0}.csv and {0}-alpha.csv are in {1}", name, options_.out.string()));
  }

  const EstimatorOptions& options_;
  const Common& common_;
  Budget budget_;
  std::vector<EstimatorTask> tasks_;
  study::TaskLoader loader_;
  Progress progress_;
  std::mutex drawing_;  // of the progress: whoever finds it free
  paper::EstimatorResults results_;
};

}  // namespace

int run_estimators(const EstimatorOptions& options, const Common& common) {
  return Estimators(options, common).run();
}

void add_estimators(CLI::App& paper, std::string& budget, std::filesystem::path& data_dir,
                    const Common& common, Job& job) {
  auto options = std::make_shared<EstimatorOptions>();
  CLI::App* command = paper.add_subcommand(
      "estimators",
      "Example: tandem paper estimators --data nsl-kdd\n\n"
      "How far estimators are from the full gradient, with alpha = 0 and with alpha > 0, all along "
      "one trajectory that another optimizer makes.");
  command->add_option("--budget", budget, "quick: minutes; full: all drivers and settings")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  command->add_option("--start", options->start, "Weights at the start, of logistic regression")
      ->check(CLI::IsMember({"normal", "zeros"}))
      ->capture_default_str();
  command->add_option("--data", options->data, "Only these data sets");
  command
      ->add_option("--driver", options->drivers,
                   "Only these optimizers move the weights; the budget's unless given")
      ->check(CLI::IsMember(kDrivers));
  command->add_option("--data-dir", data_dir,
                      "Folder of data sets; searched before TANDEM_DATA and the system's folder");
  command->add_option("--out", options->out, "Folder for a page and CSV");
  command->add_option("--epochs", options->epochs, "Of every task; the budget's unless given")
      ->check(whole(1, kMostCount));
  command->add_option("--seeds", options->seeds, "Trajectories of each driver; the same")
      ->check(whole(2, 1000));
  command->callback([options, &paper, &budget, &data_dir, &common, &job] {
    job = [options, &paper, &budget, &data_dir, &common] {
      refuse_options_beside(paper, "estimators");
      options->budget = budget;
      options->data_dir = data_dir;
      return run_estimators(*options, common);
    };
  });
}

}  // namespace tandem::cli
