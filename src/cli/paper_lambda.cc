// SPDX-License-Identifier: MIT
#include "cli/paper_lambda.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "cli/output.h"
#include "cli/paper_study.h"
#include "cli/progress.h"
#include "data/dataset.h"
#include "data/recipe.h"
#include "paper/lambda_choice.h"
#include "paper/report/json.h"
#include "paper/report/lambda_tables.h"
#include "paper/report/paper_report.h"
#include "store/store.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;
using paper::LambdaOutcome;

class LambdaExperiment {
 public:
  LambdaExperiment(const paper::PaperExperiment& experiment, const PaperOptions& options,
                   const Common& common)
      : options_(options),
        common_(common),
        progress_(!common.quiet),
        command_(command_text(options, common)),
        specs_(wanted_studies(experiment, options)) {}

  int run() {
    catch_interrupts();
    make_out_folder(options_.out);
    store::Store store = store::Store::open(options_.store, store::Store::Mode::write);
    for (study::StudySpec& spec : specs_) {
      const std::string data = spec.tasks.front().data;
      try {
        if (!run_study(std::move(spec), store)) return kInterrupted;
      } catch (const data::DataError& error) {
        add_missing(data, error.what());
      }
    }
    show();
    if (!options_.out.empty()) write();
    const bool any = std::any_of(outcomes_.begin(), outcomes_.end(),
                                 [](const LambdaOutcome& outcome) { return outcome.choice; });
    return any ? kDone : kData;
  }

 private:
  /// False when it was interrupted.
  bool run_study(study::StudySpec spec, store::Store& store) {
    const auto runs = run_paper_study(
        std::move(spec),
        {.data_dir = options_.data_dir, .memory = options_.memory << 20, .command = command_},
        store, progress_, common_);
    if (!runs) return false;
    for (paper::LambdaChoice& choice : paper::choose_lambda(*runs)) {
      LambdaOutcome& outcome = outcomes_.emplace_back();
      outcome.data = choice.data;
      if (choice.chosen == 0.0) outcome.draws = paper::draw_lambdas(common_.seed, choice.data);
      outcome.choice = std::move(choice);
    }
    seconds_ += paper::effort_of(*runs).seconds;
    machines_.insert(runs->machine);
    versions_.insert(runs->version);
    return true;
  }

  void add_missing(const std::string& data, const std::string& why) {
    LambdaOutcome& outcome = outcomes_.emplace_back();
    outcome.data = data;
    for (const data::FileInfo& file : data::find_recipe(data).files) {
      if (!file.optional) outcome.needs.push_back(file.name);
    }
    missing_.emplace_back(data, why);
    say(progress_, common_, fmt::format("{}: no data: {}", data, why));
  }

  void show() const {
    if (common_.json) {
      for (const LambdaOutcome& outcome : outcomes_) {
        if (!outcome.choice) continue;
        write_json(paper::lambda_event(outcome, options_.budget, common_.seed));
      }
      for (const auto& [data, why] : missing_) {
        write_json(Json{{"event", "no data"}, {"data", data}, {"why", why}});
      }
      return;
    }
    print_result("{}\n{}", paper::lambda_table(outcomes_).terminal(),
                 paper::lambda_details(outcomes_).terminal());
    if (common_.quiet) return;
    for (const std::string& note : paper::lambda_notes(outcomes_, common_.seed)) {
      print_note(note);
    }
  }

  std::string markdown() const {
    std::string text = "# The choice of lambda by validation\n\n";
    text += paper::lambda_table(outcomes_).markdown() + "\n";
    text += paper::lambda_details(outcomes_).markdown() + "\n";
    for (const std::string& note : paper::lambda_notes(outcomes_, common_.seed)) {
      text += note + "\n\n";
    }
    text += fmt::format("- Command: `{}`\n", command_);
    text += fmt::format("- Tandem {}\n", fmt::join(versions_, ", "));
    text += fmt::format("- Machine: {}\n", fmt::join(machines_, "; "));
    text += fmt::format("- Training, of all runs together and without evaluation: {}\n",
                        duration_text(seconds_));
    return text + fmt::format("- Written {:%Y-%m-%d %H:%M} UTC\n", fmt::gmtime(std::time(nullptr)));
  }

  void write() const {
    const std::string name = page_name(options_);
    write_atomically(options_.out / (name + ".md"),
                     [&](std::ostream& stream) { stream << markdown(); });
    write_atomically(options_.out / (name + ".csv"),
                     [&](std::ostream& stream) { stream << paper::lambda_csv(outcomes_).csv(); });
  }

  const PaperOptions& options_;
  const Common& common_;
  Progress progress_;
  std::string command_;
  std::vector<study::StudySpec> specs_;
  std::vector<LambdaOutcome> outcomes_;
  std::vector<std::pair<std::string, std::string>> missing_;  // data set, why
  double seconds_ = 0;                                        // of training
  std::set<std::string> machines_;
  std::set<std::string> versions_;
};

}  // namespace

int run_lambda(const paper::PaperExperiment& experiment, const PaperOptions& options,
               const Common& common) {
  return LambdaExperiment(experiment, options, common).run();
}

}  // namespace tandem::cli
