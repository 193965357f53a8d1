// SPDX-License-Identifier: MIT
#include "paper/report/lambda_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tandem::paper {
namespace {

using report::Table;
using Align = Table::Align;

std::string exact(std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; }

std::string rounded(std::optional<double> value) {
  return value ? fmt::format("{:.5g}", *value) : "";
}

std::string with_deviation(const SeedFigures& figures) {
  if (!figures.mean) return "";
  return figures.deviation ? fmt::format("{:.5g} +- {:.1g}", *figures.mean, *figures.deviation)
                           : rounded(figures.mean);
}

std::string setting_text(const OptionMap& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string paper_text(const std::string& data) {
  const PaperLambda* paper = paper_lambda(data);
  if (paper == nullptr) return "";
  if (paper->draws.empty()) return exact(paper->chosen);
  return fmt::format("{} ({})", paper->chosen, fmt::join(paper->draws, " "));
}

std::vector<double> all_lambdas(const std::vector<LambdaOutcome>& outcomes) {
  std::set<double> lambdas;
  for (const LambdaOutcome& outcome : outcomes) {
    if (!outcome.choice) continue;
    for (const LambdaScore& score : outcome.choice->scores) lambdas.insert(score.lambda);
  }
  return {lambdas.begin(), lambdas.end()};
}

std::string cell_of(const LambdaChoice& choice, double lambda) {
  for (const LambdaScore& score : choice.scores) {
    if (score.lambda != lambda) continue;
    if (!score.best) return "diverged";
    return rounded(score.best->loss) + (choice.chosen == lambda ? "*" : "");
  }
  return "";
}

}  // namespace

Table lambda_table(const std::vector<LambdaOutcome>& outcomes) {
  const std::vector<double> lambdas = all_lambdas(outcomes);
  std::vector<Table::Column> columns{{"data set"}};
  for (const double lambda : lambdas) columns.push_back({exact(lambda), Align::right});
  columns.insert(columns.end(), {{"chosen"}, {"by accuracy"}, {"by seeds"}, {"paper"}, {"drawn"}});
  Table table(columns);
  for (const LambdaOutcome& outcome : outcomes) {
    std::vector<std::string> row{outcome.data};
    for (const double lambda : lambdas) {
      row.push_back(outcome.choice ? cell_of(*outcome.choice, lambda) : "no data");
    }
    if (outcome.choice) {
      row.push_back(outcome.choice->chosen ? exact(outcome.choice->chosen) : "diverged");
      row.push_back(exact(outcome.choice->by_accuracy));
      row.push_back(exact(outcome.choice->by_measured));
    } else {
      row.insert(row.end(), {"no data", "", ""});
    }
    row.push_back(paper_text(outcome.data));
    row.push_back(outcome.draws ? fmt::format("{}", fmt::join(outcome.draws->values, " ")) : "");
    table.add(std::move(row));
  }
  return table;
}

Table lambda_details(const std::vector<LambdaOutcome>& outcomes) {
  Table table({{"data set"},
               {"lambda", Align::right},
               {"loss", Align::right},
               {"accuracy", Align::right},
               {"setting"},
               {"epoch", Align::right},
               {"loss of seeds", Align::right},
               {"accuracy of seeds", Align::right},
               {"setting of seeds"}});
  for (const LambdaOutcome& outcome : outcomes) {
    if (!outcome.choice) continue;
    for (const LambdaScore& score : outcome.choice->scores) {
      const auto& best = score.best;
      table.add({outcome.data, exact(score.lambda), best ? rounded(best->loss) : "diverged",
                 rounded(score.accuracy), best ? setting_text(best->options) : "",
                 best ? std::to_string(best->epoch) : "", with_deviation(score.measured_loss),
                 with_deviation(score.measured_accuracy), setting_text(score.measured_options)});
    }
  }
  return table;
}

Table lambda_csv(const std::vector<LambdaOutcome>& outcomes) {
  Table table({{"data"},
               {"model"},
               {"pruned"},
               {"lambda"},
               {"validation_loss"},
               {"validation_accuracy"},
               {"setting"},
               {"epoch"},
               {"greatest_accuracy"},
               {"seeds"},
               {"seeds_diverged"},
               {"seeds_loss_mean"},
               {"seeds_loss_deviation"},
               {"seeds_accuracy_mean"},
               {"seeds_accuracy_deviation"},
               {"seeds_setting"},
               {"chosen"}});
  for (const LambdaOutcome& outcome : outcomes) {
    if (!outcome.choice) continue;
    for (const LambdaScore& score : outcome.choice->scores) {
      const auto& best = score.best;
      table.add({outcome.data, outcome.choice->model, outcome.choice->pruned ? "yes" : "no",
                 exact(score.lambda), best ? exact(best->loss) : "",
                 best ? exact(best->accuracy) : "", best ? setting_text(best->options) : "",
                 best ? std::to_string(best->epoch) : "", exact(score.accuracy),
                 std::to_string(score.measured), std::to_string(score.measured_diverged),
                 exact(score.measured_loss.mean), exact(score.measured_loss.deviation),
                 exact(score.measured_accuracy.mean), exact(score.measured_accuracy.deviation),
                 setting_text(score.measured_options),
                 outcome.choice->chosen == score.lambda ? "yes" : "no"});
    }
  }
  return table;
}

std::vector<std::string> lambda_notes(const std::vector<LambdaOutcome>& outcomes,
                                      unsigned long long seed) {
  std::vector<std::string> notes{
      "The validation loss is cross entropy without lambda's part. For each lambda it is the least "
      "over all settings of Adam and all epochs on the tuning seed; * marks the least of all, "
      "which "
      "chooses lambda.",
      "\"By accuracy\" would be chosen by the greatest validation accuracy, \"by seeds\" by the "
      "mean over the other seeds. Those ran the setting with the least training loss, since that "
      "is "
      "what studies tune by; of each the best epoch counts (mean +- standard deviation). "
      "Accuracies are the greatest, "
      "be it in another epoch or setting than the least loss."};
  const bool pruned = std::any_of(outcomes.begin(), outcomes.end(), [](const LambdaOutcome& o) {
    return o.choice && o.choice->pruned;
  });
  if (pruned) {
    notes.emplace_back(
        "Quick: fewer epochs and seeds, and settings left early by their training loss (successive "
        "halving); --budget full trains all of them to the end.");
  }
  for (const LambdaOutcome& outcome : outcomes) {
    if (outcome.draws) {
      notes.push_back(fmt::format(
          "{}: 0 was chosen, so draws of N(0, 1), seed {}, until five were positive; {} negative "
          "ones left out.",
          outcome.data, seed, outcome.draws->negative));
    }
    if (!outcome.choice) {
      notes.push_back(fmt::format("{}: no data; it consists of {}.", outcome.data,
                                  fmt::join(outcome.needs, ", ")));
    }
  }
  return notes;
}

}  // namespace tandem::paper
