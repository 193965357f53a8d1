// SPDX-License-Identifier: MIT
#include "cli/paper_rho.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/interrupt.h"
#include "base/shell_word.h"
#include "cli/output.h"
#include "cli/paper_study.h"
#include "cli/progress.h"
#include "data/dataset.h"
#include "paper/controls.h"
#include "paper/report/paper_report.h"
#include "report/render.h"
#include "report/study_report.h"
#include "store/store.h"
#include "study/comparison.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What quick leaves out.
std::string quick_note(const study::StudySpec& spec) {
  if (spec.prune != 0) {
    return "Quick: a quarter of the epochs, three seeds, grids pruned by successive halving. "
           "`--budget full` is the paper's protocol.";
  }
  std::string parts;
  for (const auto& [name, value] : spec.tasks.front().data_options) {
    parts += fmt::format("{} = {}, ", name, value);
  }
  return fmt::format("Quick: {}{} epochs, {} seeds. `--budget full` takes all data that are there.",
                     parts, spec.epochs, spec.seeds.size());
}

class Experiment {
 public:
  Experiment(const paper::PaperExperiment& experiment, const PaperOptions& options,
             const Common& common)
      : options_(options),
        common_(common),
        progress_(!common.quiet),
        specs_(wanted_studies(experiment, options)) {
    results_.title = experiment.what;
    results_.only_static = options.only_static;
    results_.command = command_text(options, common);
    if (options.start == "zeros") {
      results_.note =
          "From weights of zero; the paper, whose figures stand beside, starts from N(0, 1). ";
    }
    if (options.loss == "double-softmax") {
      results_.note += "Cross entropy of a softmax that was taken twice. ";
    }
    if (options.report_loss == "data") {
      results_.note +=
          "The losses reported are without lambda/2 |w|^2, and settings were chosen by them. ";
      results_.suffix = "-data-loss";
    }
    if (options.budget == "quick") results_.note += quick_note(specs_.front());
  }

  int run() {
    catch_interrupts();
    make_out_folder(options_.out);
    store::Store store = store::Store::open(options_.store, store::Store::Mode::write);
    for (study::StudySpec& spec : specs_) {
      const std::string name = spec.name;
      try {
        if (!run_study(std::move(spec), store)) return kInterrupted;
      } catch (const data::DataError& error) {
        results_.missing.emplace_back(name, error.what());
        say(progress_, common_, fmt::format("{}: no data: {}", name, error.what()));
      }
    }
    common_.json ? show_json() : show();
    if (!options_.out.empty()) {
      const auto page = paper::write_paper(options_.out, page_name(options_), results_);
      say(progress_, common_,
          fmt::format(
              "the results are in {}{}", page.string(),
              report::figures_available() ? "" : ", without figures: gnuplot was not found"));
    }
    return results_.studies.empty() ? kData : kDone;
  }

 private:
  bool run_study(study::StudySpec spec, store::Store& store) {
    auto runs =
        run_paper_study(std::move(spec),
                        {.data_dir = options_.data_dir,
                         .memory = options_.memory << 20,
                         .command = results_.command},
                        store, progress_, common_, study::parse_report_loss(options_.report_loss));
    if (!runs) return false;
    results_.studies.push_back(std::move(*runs));
    return true;
  }

  std::vector<study::Row> rows() const {
    return paper::rows_of(results_.studies,
                          [](const study::StudyRuns& study) { return study::compare(study); });
  }

  void show_json() const {
    for (const study::Row& row : rows()) {
      Json json = study::to_json(row);
      const paper::PaperCell* cell =
          paper::paper_cell(row.data, row.model, row.lambda, row.optimizer);
      json["paper_rho"] = cell != nullptr && cell->rho ? Json(*cell->rho) : Json(nullptr);
      json["paper_mark"] =
          cell != nullptr && cell->mark != 0 ? Json(std::string(1, cell->mark)) : Json(nullptr);
      json["budget"] = options_.budget;
      write_json(json);
    }
    for (const paper::Verdict& verdict : paper::verdicts(results_.studies)) {
      write_json(
          Json{{"event", "verdict"},
               {"task", verdict.task},
               {"to_beats_adam", verdict.to_beats_adam},
               {"momentum_beats_adam", verdict.momentum_beats_adam},
               {"to_beats_wide_adam", verdict.to_beats_wide_adam},
               {"to_beats_wide_adam_at_equal_budget", verdict.to_beats_wide_adam_at_equal_budget},
               {"momentum_beats_wide_adam_at_equal_budget",
                verdict.momentum_beats_wide_adam_at_equal_budget},
               {"learning_helps", verdict.learning_helps}});
    }
    for (const auto& [name, why] : results_.missing) {
      write_json(Json{{"event", "no data"}, {"study", name}, {"why", why}});
    }
  }

  void show() const {
    const std::vector<study::Row> all = rows();
    std::vector<std::string> missing;
    for (const auto& [name, why] : results_.missing) missing.push_back(name);
    const auto title = [&](const char* text) {
      if (common_.quiet) return;
      print_message("\n{}\n\n", text);
    };
    title("rho x 1e3 against Adam and its mark: ours (the paper's)");
    write_result(paper::beside_paper(report::part_of_rows(all, false), missing).terminal());
    const std::vector<study::Row> ablations = report::part_of_rows(all, true);
    if (!ablations.empty()) {
      title("Ablations, against Adam");
      write_result(paper::beside_paper(ablations, {}).terminal());
    }
    const auto wide = paper::rows_of(results_.studies, paper::against_wide_adam);
    if (!wide.empty()) {
      title("Against Adam with TO's rates too");
      write_result(paper::control_table(wide).terminal());
    }
    const auto learning = paper::rows_of(results_.studies, paper::against_no_learning);
    if (!learning.empty()) {
      title("What learning A contributes: alpha > 0 against alpha = 0");
      write_result(paper::control_table(learning).terminal());
    }
    if (!ablations.empty() || !learning.empty()) {
      print_result("\n{}\n", paper::verdict_text(paper::verdicts(results_.studies)));
    }
    if (const report::Table epochs = paper::epochs_table(results_.studies); epochs.rows() > 0) {
      title("rho x 1e3 on the tuning seed, had training ended after T epochs");
      write_result(epochs.terminal());
    }
    if (common_.quiet) return;
    print_note(fmt::format(
        "{}{}tandem report --store {} shows the statistics, the edges of the grids and the same at "
        "equal cost",
        results_.note, results_.note.empty() ? "" : "\n", shell_word(options_.store.string())));
  }

  const PaperOptions& options_;
  const Common& common_;
  Progress progress_;
  std::vector<study::StudySpec> specs_;
  paper::PaperResults results_;
};

}  // namespace

int run_rho(const paper::PaperExperiment& experiment, const PaperOptions& options,
            const Common& common) {
  return Experiment(experiment, options, common).run();
}

}  // namespace tandem::cli
