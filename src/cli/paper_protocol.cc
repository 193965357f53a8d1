// SPDX-License-Identifier: MIT
#include "cli/paper_protocol.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "data/dataset.h"
#include "paper/report/protocol_tables.h"
#include "store/store.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const paper::ProtocolScore& score) {
  Json cells = Json::array();
  for (const paper::ProtocolCell& cell : score.cells) {
    cells.push_back({{"optimizer", cell.optimizer},
                     {"lambda", cell.lambda},
                     {"paper_rho", cell.paper},
                     {"rho", cell.rho ? Json(*cell.rho) : Json(nullptr)},
                     {"rhos", cell.rhos},
                     {"diverged", cell.diverged}});
  }
  return {{"data", score.data},
          {"loss", problems::loss_name(score.protocol.loss)},
          {"report_loss", study::report_loss_names()[static_cast<std::size_t>(
                              score.protocol.report == study::ReportLoss::data)]},
          {"options", score.protocol.data_options},
          {"epochs", score.protocol.epochs},
          {"chosen_on",
           score.protocol.selection == paper::Selection::one_seed ? "one seed" : "all seeds"},
          {"distance", score.distance},
          {"same_sign", score.same_sign},
          {"cells", cells}};
}

class Search {
 public:
  Search(const paper::PaperExperiment& experiment, const PaperOptions& options,
         const Common& common)
      : options_(options), common_(common), progress_(!common.quiet) {
    PaperOptions whole = options;  // this experiment has a quick form of its own
    whole.budget = "full";
    specs_ = wanted_studies(experiment, whole);
    if (options.budget == "quick") {
      for (study::StudySpec& spec : specs_) spec = paper::quick_protocol(std::move(spec));
    }
  }

  int run() {
    catch_interrupts();
    make_out_folder(options_.out);
    store::Store store = store::Store::open(options_.store, store::Store::Mode::write);
    for (const study::StudySpec& spec : specs_) {
      try {
        const auto runs = run_paper_study(spec,
                                          {.data_dir = options_.data_dir,
                                           .memory = options_.memory << 20,
                                           .command = command_text(options_, common_)},
                                          store, progress_, common_);
        if (!runs) return kInterrupted;
        add(spec, *runs);
      } catch (const data::DataError& error) {
        missing_.emplace_back(spec.name, error.what());
        say(progress_, common_, fmt::format("{}: no data: {}", spec.name, error.what()));
      }
    }
    common_.json ? show_json() : show();
    if (!options_.out.empty()) write();
    return searches_.empty() ? kData : kDone;
  }

 private:
  void add(const study::StudySpec& spec, const study::StudyRuns& runs) {
    paper::ProtocolSearch& search = searches_.emplace_back();
    search.data = spec.tasks.front().data;
    search.seeds = spec.seeds.size() + 1;
    search.scores = paper::score_protocols(spec, runs);
    if (search.scores.empty()) return;
    search.order = paper::order_test(search.scores);
    const paper::Protocol& nearest = search.scores.front().protocol;
    search.momentum = paper::score_momentum(spec, runs, nearest);
    search.budgets = paper::equal_budgets(spec, runs, nearest);
    const paper::Protocol* ours = paper::our_protocol(search.scores, runs.epochs);
    if (ours == nullptr) return;
    search.own = *ours;
    search.own_budgets = paper::equal_budgets(spec, runs, *ours);
  }

  void show_json() const {
    for (const paper::ProtocolSearch& search : searches_) {
      for (const paper::ProtocolScore& score : search.scores) {
        Json json{{"event", "protocol"}};
        json.update(to_json(score));
        write_json(json);
      }
      for (const paper::MomentumScore& momentum : search.momentum) {
        Json json{{"event", "momentum"}, {"form", momentum.form}, {"grid", momentum.grid}};
        json.update(to_json(momentum.score));
        write_json(json);
      }
      for (const auto& [protocol, rows] :
           {std::pair("nearest", &search.budgets), std::pair("ours", &search.own_budgets)}) {
        for (const paper::BudgetRow& row : *rows) {
          write_json(Json{{"event", "equal budget"},
                          {"data", search.data},
                          {"protocol", protocol},
                          {"lambda", row.lambda},
                          {"optimizer", row.optimizer},
                          {"against", row.against},
                          {"settings", row.settings},
                          {"rho", row.rho ? Json(*row.rho) : Json(nullptr)},
                          {"rhos", row.rhos},
                          {"diverged", row.diverged},
                          {"rho_whole", row.whole ? Json(*row.whole) : Json(nullptr)}});
        }
      }
      if (search.order) {
        write_json(Json{{"event", "order"},
                        {"data", search.data},
                        {"orders", search.order->orders},
                        {"as_near", search.order->as_near}});
      }
    }
    for (const auto& [study, why] : missing_) {
      write_json(Json{{"event", "no data"}, {"study", study}, {"why", why}});
    }
  }

  void show() const {
    if (const report::Table joint = paper::joint_table(searches_, 12); joint.rows() > 0) {
      print_result("{}\n", joint.terminal());
    }
    for (const paper::ProtocolSearch& search : searches_) {
      print_result("{}\n{}\n", paper::nearest_table(search, 12).terminal(),
                   paper::cells_table(search).terminal());
      if (!search.momentum.empty()) {
        print_result("{}\n", paper::momentum_table(search).terminal());
      }
      if (!search.budgets.empty()) {
        print_result("{}\n", paper::budget_table(search.budgets).terminal());
      }
      print_result("{}\n\n", paper::protocol_verdict(search));
    }
  }

  void write() {
    const std::string name = page_name(options_);
    write_atomically(options_.out / (name + ".md"), [&](std::ostream& stream) {
      stream << paper::protocol_page(
          searches_, command_text(options_, common_),
          options_.budget == "quick"
              ? "Quick: the first two lambdas, every third rate, two values of alpha, beta and "
                "decay, and at most three epochs."
              : "",
          missing_);
    });
    write_atomically(options_.out / (name + ".csv"),
                     [&](std::ostream& stream) { stream << paper::protocol_csv(searches_).csv(); });
    say(progress_, common_,
        fmt::format("the results are in {}", (options_.out / (name + ".md")).string()));
  }

  const PaperOptions& options_;
  const Common& common_;
  Progress progress_;
  std::vector<study::StudySpec> specs_;
  std::vector<paper::ProtocolSearch> searches_;
  std::vector<std::pair<std::string, std::string>> missing_;
};

}  // namespace

int run_protocol(const paper::PaperExperiment& experiment, const PaperOptions& options,
                 const Common& common) {
  for (const auto& [name, value, usual] :
       {std::tuple("--start", options.start, PaperOptions{}.start),
        std::tuple("--loss", options.loss, PaperOptions{}.loss),
        std::tuple("--report-loss", options.report_loss, PaperOptions{}.report_loss)}) {
    if (value == usual) continue;
    throw std::invalid_argument(
        fmt::format("{} is not an option of protocol, which tries them itself", name));
  }
  if (options.epochs != 0) {
    throw std::invalid_argument("--epochs is not an option of protocol, which tries them itself");
  }
  if (!options.data_options.empty()) {
    throw std::invalid_argument(
        "--data-option is not an option of protocol, which tries them itself");
  }
  return Search(experiment, options, common).run();
}

}  // namespace tandem::cli
