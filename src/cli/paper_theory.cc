// SPDX-License-Identifier: MIT
// `tandem paper theory`: certified rates of both theorems, milder ones on real data, and the controls
// beside them.
#include "cli/paper_theory.h"

#include <fmt/format.h>
#include <tandem/executor.h>
#include <tandem/version.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/interrupt.h"
#include "base/machine.h"
#include "bench/measure.h"
#include "cli/output.h"
#include "cli/paper_study.h"
#include "cli/progress.h"
#include "cli/values.h"
#include "data/dataset.h"
#include "paper/report/json.h"
#include "paper/report/theory_report.h"
#include "paper/theory.h"
#include "paper/theory_experiment.h"
#include "paper/theory_problem.h"
#include "paper/theory_robust.h"
#include "train/trainer.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;
using paper::TheoryRun;

constexpr double kGeneratedLambda = 0.05;
constexpr double kKddLambda = 0.97;
constexpr std::size_t kRepetitions = 32;
constexpr std::size_t kMethods = 7;  // of theory::methods(), for the bar

/// How long an experiment runs.
struct Length {
  std::size_t steps;
  double decades;  // of steps at the end that slopes are fitted to
  std::size_t points_per_decade = 32;
};

struct Budget {
  Length certified, generated, kdd, nonconvex;
};

// KDD has a few very long rows: the error of an estimate over a window of constant length jumps
// where one was drawn, and only many records tell its slope. A record takes the gradient of 22544
// rows, as much time as 500 steps.
constexpr Budget kQuick = {{100'000, 1}, {100'000, 1}, {10'000, 1, 24}, {100'000, 1}};
constexpr Budget kFull = {{1'000'000, 2}, {300'000, 2}, {100'000, 2, 48}, {1'000'000, 2}};

void print_line(Json line, const Json& more) {
  line.update(more);
  write_json(line);
}

// ---- Constants of one's own ---------------------------------------------------------------------

using Named = std::pair<const char*, const std::optional<double>*>;

template <std::size_t count>
bool any_given(const std::array<Named, count>& options) {
  return std::any_of(options.begin(), options.end(),
                     [](const Named& option) { return option.second->has_value(); });
}

/// Throws naming the first that is missing.
template <std::size_t count>
void require_all(const std::array<Named, count>& options, const char* what) {
  for (const auto& [name, value] : options) {
    if (*value) continue;
    std::string names;
    for (const Named& option : options) {
      names += (names.empty() ? "" : ", ") + std::string(option.first);
    }
    throw std::invalid_argument(
        fmt::format("{} is missing; {}: expected all of {}", name, what, names));
  }
}

std::array<Named, 3> needed_facts(const TheoryOptions& options) {
  return {{{"--L", &options.L}, {"--Dw", &options.D_w}, {"--DG", &options.D_G}}};
}

std::array<Named, 4> own_rates(const TheoryOptions& options) {
  return {{{"--gamma", &options.gamma},
           {"--beta", &options.beta},
           {"--alpha", &options.alpha},
           {"--mu", &options.mu}}};
}

void show_rates(const char* kind, const theory::Facts& facts, const theory::Rates& rates,
                const Common& common) {
  if (common.json) {
    print_line({{"event", "rates"}, {"kind", kind}}, paper::constants_json(facts, rates));
    return;
  }
  print_result("Rates, {}. {}\n\n{}\n{}\n", kind, paper::verdict(facts, rates),
               paper::constants_table(facts, rates, "of the gradient on every batch").terminal(),
               paper::conditions_table(facts, rates).terminal());
}

int check_constants(const TheoryOptions& options, const Common& common) {
  if (!options.out.empty() || options.steps || options.repetitions) {
    throw std::invalid_argument(
        fmt::format("{} goes with the experiments; expected it without constants of one's own",
                    !options.out.empty() ? "--out"
                    : options.steps      ? "--steps"
                                         : "--repetitions"));
  }
  require_all(needed_facts(options), "constants of one's own");
  const theory::Facts facts{.c = options.c,
                            .L = *options.L,
                            .D_w = *options.D_w,
                            .D_G = *options.D_G,
                            .D_V = options.D_V,
                            .D_F = options.D_F};
  theory::require_valid(facts);
  std::optional<theory::Rates> own;
  if (any_given(own_rates(options))) {
    require_all(own_rates(options), "rates of one's own");
    own = {
        .gamma = *options.gamma, .beta = *options.beta, .alpha = *options.alpha, .mu = *options.mu};
    theory::require_valid(*own);
  }
  show_rates("certified", facts, theory::certified_rates(facts), common);
  if (own) show_rates("own", facts, *own, common);
  return kDone;
}

// ---- Experiments --------------------------------------------------------------------------------

class Theory {
 public:
  Theory(const TheoryOptions& options, const Common& common)
      : options_(options),
        common_(common),
        budget_(options.budget == "full" ? kFull : kQuick),
        progress_(!common.quiet) {}

  int run() {
    catch_interrupts();
    make_out_folder(options_.out);
    try {
      const double seconds = bench::seconds_of([&] {
        certified();
        kdd();
        generated();
        nonconvex();
      });
      if (!options_.out.empty()) write(seconds);
      if (common_.json) {
        write_json(Json{{"event", "done"}, {"seconds", seconds}});
      } else {
        say(progress_, common_, fmt::format("{}: {}", command(), duration_text(seconds)));
      }
    } catch (const train::Interrupted&) {
      progress_.clear();
      print_message("tandem: interrupted{}\n",
                    options_.out.empty() ? "" : "; no files were written");
      return kInterrupted;
    }
    return kDone;
  }

 private:
  /// Without folders, which are each reader's own.
  std::string command() const {
    std::string text = fmt::format("tandem paper theory --budget {}", options_.budget);
    if (options_.steps) text += fmt::format(" --steps {}", *options_.steps);
    if (options_.repetitions) text += fmt::format(" --repetitions {}", *options_.repetitions);
    if (common_.seed != 1) text += fmt::format(" --seed {}", common_.seed);
    return text;
  }

  std::size_t repetitions() const { return options_.repetitions.value_or(kRepetitions); }

  theory::ExperimentOptions experiment_options(const Length& length, const std::string& name) {
    theory::ExperimentOptions result;
    result.steps = options_.steps.value_or(length.steps);
    result.repetitions = repetitions();
    result.decades = length.decades;
    result.points_per_decade = length.points_per_decade;
    result.seed = common_.seed;
    asked_ = 0;
    const auto records =
        static_cast<double>(theory::recorded_steps(result.steps, result.points_per_decade).size() *
                            result.repetitions * kMethods);
    result.proceed = [this, name, records] {
      const std::size_t asked = ++asked_;
      if (const std::unique_lock lock(drawing_, std::try_to_lock); lock && progress_.due()) {
        progress_.show(static_cast<double>(asked) / records, name);
      }
      return !interrupted();
    };
    return result;
  }

  static std::string how_it_ran(const theory::ExperimentOptions& options, std::size_t batch,
                                const theory::ControlOptions& controls) {
    return fmt::format(
        "Batches of {} drawn independently, {} steps, {} repetitions, double precision; slopes of "
        "log E against log(t + mu) over the last {:g} decade{} of t, with 95 % intervals "
        "(bootstrap over repetitions). Momentum's constant beta is {:.3g}, Adam's constant rate "
        "{:g}; the others have gamma_t.",
        batch, options.steps, options.repetitions, options.decades, options.decades == 1 ? "" : "s",
        1 - controls.momentum, controls.adam_rate);
  }

  void show(TheoryRun run) {
    progress_.clear();
    if (common_.json) {
      for (const Json& line : paper::theory_events(run, repetitions())) write_json(line);
    } else {
      const theory::Experiment& experiment = run.experiment;
      print_result(
          "{}\n{}\n\n{}\n{}\n{}\n\n{}\n{}\n\n{}\n\n", run.title, run.text,
          paper::constants_table(experiment.facts, experiment.rates, run.smoothness).terminal(),
          paper::conditions_table(experiment.facts, experiment.rates).terminal(),
          paper::verdict(experiment.facts, experiment.rates),
          paper::slopes_table(experiment).terminal() +
              (experiment.facts.c ? "" : "\n" + paper::least_table(experiment).terminal()),
          paper::reasons(experiment), paper::what_controls_show(experiment));
      flush_results();
    }
    if (interrupted()) throw train::Interrupted();
    runs_.push_back(std::move(run));
  }

  void certified() {
    const auto options = experiment_options(budget_.certified, "certified");
    TheoryRun run{.name = "certified", .title = "(a) Certified rates", .text = {}};
    run.seconds = bench::seconds_of(
        [&] { run.experiment = theory::certified_experiment(options, *default_executor()); });
    const theory::Facts& facts = run.experiment.facts;
    run.text = fmt::format(
        "Softmax regression on 400 generated rows of length 1, 10 features, 2 classes (20 "
        "weights), lambda = {:g}: condition number L/c = {:.4g}. {}",
        *facts.c, facts.L / *facts.c, how_it_ran(options, theory::SoftmaxOptions().batch, {}));
    show(std::move(run));
  }

  void milder(TheoryRun run, const data::Task& task, theory::SoftmaxOptions problem,
              const Length& length, const theory::ControlOptions& controls) {
    problem.seed = common_.seed;
    const auto options = experiment_options(length, run.name);
    run.smoothness = "of the full gradient; the theorem asks for every batch's";
    run.seconds = bench::seconds_of([&] {
      run.experiment =
          theory::milder_experiment(task, problem, options, *default_executor(), controls);
    });
    const theory::Facts& facts = run.experiment.facts;
    run.text = fmt::format(
        "Softmax regression on {} ({} rows, {} weights), lambda = {:g}: condition number of the "
        "full gradient {:.4g}. {}",
        run.text, task.train.rows, task.train.features * task.train.classes, problem.lambda,
        facts.L / *facts.c, how_it_ran(options, problem.batch, controls));
    show(std::move(run));
  }

  void kdd() {
    data::Task task;
    try {
      data::LoadOptions load;
      load.search = data::search_folders(options_.data_dir);
      task = data::load_task("nsl-kdd", load);
    } catch (const data::DataError& error) {
      missing_ = error.what();
      progress_.clear();
      if (common_.json) {
        write_json(Json{{"event", "no data"}, {"experiment", "nsl-kdd"}, {"why", missing_}});
      } else {
        print_result("(b) Milder rates on NSL-KDD: no data\n{}\n\n", missing_);
      }
      return;
    }
    milder({.name = "nsl-kdd",
            .title = "(b) Milder rates on NSL-KDD, outside the theorem",
            .text = "NSL-KDD"},
           task, {.lambda = kKddLambda, .batch = 8}, budget_.kdd, {});
  }

  void generated() {
    milder({.name = "generated",
            .title = "(b) Milder rates on generated rows, outside the theorem",
            .text = "the generated rows of (a), no real data"},
           theory::unit_task(), {.lambda = kGeneratedLambda}, budget_.generated,
           // At Adam's usual rate the start would take a decade of steps.
           {.adam_rate = 0.01});
  }

  void nonconvex() {
    const auto options = experiment_options(budget_.nonconvex, "nonconvex");
    TheoryRun run{.name = "nonconvex", .title = "(c) Theorem 2, not convex", .text = {}};
    run.seconds = bench::seconds_of(
        [&] { run.experiment = theory::nonconvex_experiment(options, *default_executor()); });
    const theory::Facts& facts = run.experiment.facts;
    const std::vector<double> start = theory::RobustRegression().start();
    const double farthest =
        theory::farthest(facts, run.experiment.rates, std::hypot(start[0], start[1]),
                         static_cast<double>(options.steps));
    run.text = fmt::format(
        "Robust regression, f(r) = r^2 / (2 (1 + r^2)), on 200 generated rows of length 1 (2 "
        "weights), from where F curves downwards in one direction. With certified rates |w_t| <= "
        "{:.3g} in these steps; the ball's radius is {:g}, so the projection {}. {}",
        farthest, facts.D_w, farthest < facts.D_w ? "never acts" : "may act",
        how_it_ran(options, theory::RobustOptions().batch, {}));
    show(std::move(run));
  }

  void write(double seconds) {
    const auto figures = paper::write_theory(
        options_.out, {.command = command(),
                       .facts = {{"tandem", version()},
                                 {"machine", machine_description()},
                                 {"threads", std::to_string(default_executor()->threads())},
                                 {"time", duration_text(seconds)}},
                       .runs = runs_,
                       .missing = missing_});
    say(progress_, common_,
        fmt::format(
            "theory.md, theory.csv and {} are in {}",
            figures ? fmt::format("{} figures", *figures) : "no figures (gnuplot was not found)",
            options_.out.string()));
  }

  const TheoryOptions& options_;
  const Common& common_;
  const Budget& budget_;
  Progress progress_;
  std::mutex drawing_;  // of the progress: whoever finds it free
  std::atomic<std::size_t> asked_ = 0;
  std::vector<TheoryRun> runs_;
  std::string missing_;  // why there is no run on KDD
};

}  // namespace

int run_theory(const TheoryOptions& options, const Common& common) {
  const std::array<Named, 3> other_facts = {
      {{"--c", &options.c}, {"--DV", &options.D_V}, {"--DF", &options.D_F}}};
  if (any_given(needed_facts(options)) || any_given(other_facts) || any_given(own_rates(options))) {
    return check_constants(options, common);
  }
  return Theory(options, common).run();
}

void add_theory(CLI::App& paper, std::string& budget, std::filesystem::path& data_dir,
                const Common& common, Job& job) {
  auto options = std::make_shared<TheoryOptions>();
  CLI::App* command = paper.add_subcommand(
      "theory",
      "Example: tandem paper theory --out theory\n"
      "         tandem paper theory --c 0.5 --L 1 --Dw 1 --DG 2\n\n"
      "The rates of the paper's theorems, measured, with controls. With constants of a problem "
      "of one's own: rates that satisfy Theorem 1 (without --c: 2), and which conditions other "
      "rates fail.");
  command->add_option("--budget", budget, "quick: minutes; full: several times as long")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  command->add_option("--data-dir", data_dir,
                      "Folder of data sets; searched before TANDEM_DATA and the system's folder");
  command->add_option("--out", options->out, "Folder for theory.md, theory.csv and figures");
  command->add_option("--steps", options->steps, "Of every experiment; the budget's unless given")
      ->check(whole(1, kMostCount));
  command->add_option("--repetitions", options->repetitions, "The same; 32 unless given")
      ->check(whole(1, kMostCount));
  const std::string own = "Constants of one's own";
  command->add_option("--c", options->c, "Of strong convexity")->group(own);
  command->add_option("--L", options->L, "Lipschitz constant of every batch's gradient")
      ->group(own);
  command->add_option("--Dw", options->D_w, "Radius of the ball of weights")->group(own);
  command->add_option("--DG", options->D_G, "Bound of the gradients in it")->group(own);
  command->add_option("--DV", options->D_V, "Bound of their variance; DG^2 unless given")
      ->group(own);
  command->add_option("--DF", options->D_F, "Bound of F(w_1) - F in it; 2 Dw DG unless given")
      ->group(own);
  const std::string rates = "Rates of one's own, to be checked";
  command->add_option("--gamma", options->gamma, "gamma_t = gamma / (t + mu)")->group(rates);
  command->add_option("--beta", options->beta, "beta_t = beta / (t - 1 + mu)")->group(rates);
  command->add_option("--alpha", options->alpha, "alpha_t = alpha / (t - 1 + mu)^2")->group(rates);
  command->add_option("--mu", options->mu, "Of all three")->group(rates);
  command->callback([options, &paper, &budget, &data_dir, &common, &job] {
    job = [options, &paper, &budget, &data_dir, &common] {
      refuse_options_beside(paper, "theory");
      options->budget = budget;
      options->data_dir = data_dir;
      return run_theory(*options, common);
    };
  });
}

}  // namespace tandem::cli
