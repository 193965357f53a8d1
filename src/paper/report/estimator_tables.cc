// SPDX-License-Identifier: MIT
#include "paper/report/estimator_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace tandem::paper {
namespace {

using report::Table;
using Align = Table::Align;
using Json = nlohmann::ordered_json;

/// The quotient of two ratios, back from its logarithm.
struct Quotient {
  double value = 0;
  double low = 0;
  double high = 0;
};

std::optional<Quotient> quotient_of(const EstimatorComparison& comparison) {
  const study::Summary& log = comparison.log_quotient;
  if (!log.mean || !log.interval) return std::nullopt;
  return Quotient{std::exp(*log.mean), std::exp((*log.interval)[0]), std::exp((*log.interval)[1])};
}

std::string driver_text(const train::Setting& driver) {
  std::string text = driver.method;
  for (const auto& [name, value] : driver.options) text += fmt::format(" {}={}", name, value);
  return text;
}

/// Enough digits that a quotient which is not 1 does not look like it.
std::string quotient_number(double value) {
  return std::abs(value - 1) < 0.0095 ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

std::string diverged_text(const EstimatorComparison& comparison) {
  return fmt::format("diverged {}/{}",
                     std::max(comparison.with.diverged, comparison.without.diverged),
                     comparison.seeds);
}

std::string value_text(const EstimatorComparison& comparison) {
  const auto quotient = quotient_of(comparison);
  return quotient ? quotient_number(quotient->value) : diverged_text(comparison);
}

std::string interval_text(const EstimatorComparison& comparison) {
  const auto quotient = quotient_of(comparison);
  if (!quotient) return "";
  return fmt::format("{} to {}", quotient_number(quotient->low), quotient_number(quotient->high));
}

std::string ratio_text(const BestEstimator& best) {
  return best.ratio ? fmt::format("{:.3g}", *best.ratio) : "diverged";
}

/// ! marks the end of a grid.
std::string alpha_text(const BestEstimator& best) {
  return fmt::format("{:g}{}", best.setting.alpha, best.alpha_at_edge ? " !" : "");
}
std::string beta_text(const BestEstimator& best) {
  return fmt::format("{:g}{}", best.setting.beta, best.beta_at_edge ? " !" : "");
}

/// Over all epochs.
template <class Visit>
void each_whole(const std::vector<EstimatorRun>& runs, const Visit& visit) {
  for (const EstimatorRun& run : runs) {
    for (const DriverResult& result : run.drivers) {
      for (const EstimatorComparison& comparison : result.comparisons) {
        if (!comparison.epoch) visit(run, result, comparison);
      }
    }
  }
}

std::string exact(std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; }

std::string left_out_text(const EstimatorRun& run) {
  return fmt::format("{} weights: left out", run.dimension);
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

std::string task_title(const EstimatorRun& run) {
  return fmt::format("{} {}, lambda = {:g}", run.data, run.model, run.lambda);
}

Table estimator_table(const std::vector<EstimatorRun>& runs) {
  Table table({{"task"},
               {"driver"},
               {"rule"},
               {"G = 0", Align::right},
               {"alpha = 0", Align::right},
               {"beta", Align::right},
               {"alpha > 0", Align::right},
               {"alpha", Align::right},
               {"beta", Align::right},
               {"quotient", Align::right},
               {"95 %", Align::right}});
  for (const EstimatorRun& run : runs) {
    for (const DriverResult& result : run.drivers) {
      for (const std::string& rule : run.left_out) {
        table.add({task_title(run), driver_text(result.driver), rule, "", "", "",
                   left_out_text(run), "", "", "", ""});
      }
      for (const EstimatorComparison& c : result.comparisons) {
        if (c.epoch) continue;
        table.add({task_title(run), driver_text(result.driver), c.rule,
                   fmt::format("{:.3g}", c.gradient), ratio_text(c.without), beta_text(c.without),
                   ratio_text(c.with), alpha_text(c.with), beta_text(c.with), value_text(c),
                   interval_text(c)});
      }
    }
  }
  return table;
}

Table estimator_epochs(const EstimatorRun& run) {
  std::vector<Table::Column> columns{{"driver"}, {"rule"}};
  for (std::size_t epoch = 1; epoch <= run.options.epochs; ++epoch) {
    columns.push_back({fmt::format("epoch {}", epoch), Align::right});
  }
  Table table(columns);
  for (const DriverResult& result : run.drivers) {
    std::vector<std::string> row;
    for (const EstimatorComparison& comparison : result.comparisons) {
      if (!comparison.epoch) {
        if (!row.empty()) table.add(std::move(row));
        row = {driver_text(result.driver), comparison.rule};
        continue;
      }
      const std::string interval = interval_text(comparison);
      row.push_back(interval.empty() ? value_text(comparison)
                                     : fmt::format("{} ({})", value_text(comparison), interval));
    }
    if (!row.empty()) table.add(std::move(row));
  }
  return table;
}

std::string estimator_summary(const std::vector<EstimatorRun>& runs) {
  std::size_t all = 0;
  std::size_t below = 0;
  std::size_t above = 0;
  std::size_t diverged = 0;
  std::optional<double> least;
  std::string where;
  std::vector<std::optional<double>> p;
  std::vector<bool> smaller;
  each_whole(runs, [&](const EstimatorRun& run, const DriverResult& result,
                       const EstimatorComparison& comparison) {
    ++all;
    const auto quotient = quotient_of(comparison);
    if (!quotient) {
      ++diverged;
      return;
    }
    p.push_back(comparison.log_quotient.p);
    smaller.push_back(quotient->value < 1);
    below += quotient->high < 1 ? 1 : 0;
    above += quotient->low > 1 ? 1 : 0;
    if (least && *least <= quotient->value) return;
    least = quotient->value;
    where = fmt::format("{} on {} with {} as driver", comparison.rule, task_title(run),
                        result.driver.method);
  });
  std::string text = fmt::format(
      "Of {} comparisons over all epochs, the error with alpha > 0 is smaller than with alpha = 0 "
      "in {} (the interval of the quotient is below 1), larger in {}, and not told apart in {}",
      all, below, above, all - below - above - diverged);
  if (diverged > 0) {
    text += fmt::format("; in {} what the other seeds choose diverges on a seed", diverged);
  }
  const std::vector<std::optional<double>> adjusted = study::holm(p);
  std::array<std::size_t, 2> left = {0, 0};  // larger, smaller
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (adjusted[i] && *adjusted[i] < 0.05) ++left[smaller[i] ? 1 : 0];
  }
  text += fmt::format(
      ". After Holm's correction over all of them it is smaller in {} and larger in {} (p < 0.05)",
      left[1], left[0]);
  if (least) text += fmt::format(". The least quotient is {}: {}", quotient_number(*least), where);
  return text + ".";
}

std::vector<std::string> estimator_notes(const std::vector<EstimatorRun>& runs) {
  std::vector<std::string> notes{
      "One optimizer, the driver, moves the weights; all estimators look at the same weights w and "
      "mini-batch gradients g and move nothing. A ratio is the sum of |G - grad F|^2 over the sum "
      "of |g - grad F|^2 at the measured steps: 1 is the mini-batch's gradient itself, and G = 0 "
      "is what no estimate at all would have.",
      "alpha = 0 is an average of gradients, the same for all rules. Both sides have the same "
      "betas; "
      "each seed is scored at the alpha and beta that the other seeds choose. Ratios are geometric "
      "means over seeds; the quotient is the ratio with alpha > 0 over the one with alpha = 0, "
      "with "
      "a t interval of its logarithm over seeds. Below 1 learning A helps. The alpha and beta "
      "shown "
      "are the best over all seeds; ! marks an end of the grid. Since the least alpha hardly "
      "differs from 0, a quotient of about 1 with that alpha says that A is best left alone."};
  for (const EstimatorRun& run : runs) {
    std::string text = fmt::format(
        "{}: {} weights, {} epochs of {} steps, {} measured steps an epoch, batches of {}, start "
        "{}, {} seeds from {}.",
        task_title(run), run.dimension, run.options.epochs, run.steps, run.options.points,
        run.options.batch, run.start, run.seeds, run.options.seed);
    if (!run.left_out.empty()) {
      text += fmt::format(" Left out, for its matrix of {0} x {0}: {1}.", run.dimension,
                          fmt::join(run.left_out, ", "));
    }
    notes.push_back(std::move(text));
  }
  if (!runs.empty()) {
    notes.push_back(fmt::format("alpha > 0: {}. beta: {}.",
                                fmt::join(runs.front().grid.alphas, ", "),
                                fmt::join(runs.front().grid.betas, ", ")));
  }
  return notes;
}

Table estimator_csv(const std::vector<EstimatorRun>& runs) {
  Table table({{"data"},          {"model"},         {"lambda"},
               {"start"},         {"driver"},        {"rule"},
               {"epoch"},         {"seeds"},         {"zero_ratio"},
               {"without_ratio"}, {"without_beta"},  {"without_agreeing"},
               {"with_ratio"},    {"with_alpha"},    {"with_beta"},
               {"with_agreeing"}, {"with_diverged"}, {"log_quotient"},
               {"log_low"},       {"log_high"},      {"p"}});
  for (const EstimatorRun& run : runs) {
    for (const DriverResult& result : run.drivers) {
      for (const EstimatorComparison& c : result.comparisons) {
        const study::Summary& log = c.log_quotient;
        const auto& interval = log.interval;
        table.add({run.data,
                   run.model,
                   exact(run.lambda),
                   run.start,
                   driver_text(result.driver),
                   c.rule,
                   c.epoch ? std::to_string(*c.epoch) : "all",
                   std::to_string(c.seeds),
                   exact(c.gradient),
                   exact(c.without.ratio),
                   exact(c.without.setting.beta),
                   std::to_string(c.without.agreeing),
                   exact(c.with.ratio),
                   exact(c.with.setting.alpha),
                   exact(c.with.setting.beta),
                   std::to_string(c.with.agreeing),
                   std::to_string(c.with.diverged),
                   exact(log.mean),
                   interval ? exact((*interval)[0]) : "",
                   interval ? exact((*interval)[1]) : "",
                   exact(log.p)});
      }
    }
  }
  return table;
}

Table alpha_csv(const std::vector<EstimatorRun>& runs) {
  Table table({{"data"},
               {"model"},
               {"lambda"},
               {"start"},
               {"driver"},
               {"rule"},
               {"alpha"},
               {"beta"},
               {"ratio"}});
  for (const EstimatorRun& run : runs) {
    for (const DriverResult& result : run.drivers) {
      for (const AlphaProfile& profile : result.profile) {
        const EstimatorSetting& setting = profile.setting;
        table.add({run.data, run.model, exact(run.lambda), run.start, driver_text(result.driver),
                   setting.alpha == 0 ? "any" : setting.rule, exact(setting.alpha),
                   profile.ratio ? exact(setting.beta) : "",
                   profile.ratio ? exact(profile.ratio) : "diverged"});
      }
    }
  }
  return table;
}

std::vector<Json> estimator_events(const EstimatorRun& run) {
  std::vector<Json> lines;
  for (const DriverResult& result : run.drivers) {
    const auto line = [&](const std::string& rule) {
      return Json{{"event", "estimators"},
                  {"data", run.data},
                  {"model", run.model},
                  {"lambda", run.lambda},
                  {"start", run.start},
                  {"dimension", run.dimension},
                  {"driver", result.driver.method},
                  {"driver_options", result.driver.options},
                  {"rule", rule}};
    };
    for (const std::string& rule : run.left_out) {
      lines.push_back(line(rule));
      lines.back()["left_out"] = true;
    }
    for (const EstimatorComparison& c : result.comparisons) {
      Json json = line(c.rule);
      const auto quotient = quotient_of(c);
      json["epoch"] = c.epoch ? Json(*c.epoch) : Json(nullptr);
      json["seeds"] = c.seeds;
      json["seeds_diverged"] = c.with.diverged;
      json["zero_ratio"] = c.gradient;
      json["without_ratio"] = json_of(c.without.ratio);
      json["without_beta"] = c.without.setting.beta;
      json["with_ratio"] = json_of(c.with.ratio);
      json["with_alpha"] = c.with.setting.alpha;
      json["with_beta"] = c.with.setting.beta;
      json["quotient"] = quotient ? Json(quotient->value) : Json(nullptr);
      json["low"] = quotient ? Json(quotient->low) : Json(nullptr);
      json["high"] = quotient ? Json(quotient->high) : Json(nullptr);
      json["p"] = json_of(c.log_quotient.p);
      lines.push_back(std::move(json));
    }
  }
  return lines;
}

std::string estimator_page(const EstimatorResults& results) {
  std::string text = fmt::format(
      "# The error of estimators, with and without A\n\n```sh\n{}\n```\n\n", results.command);
  if (!results.note.empty()) text += results.note + "\n\n";
  if (!results.runs.empty()) {
    text += estimator_summary(results.runs) + "\n\n## All epochs\n\n";
    text += estimator_table(results.runs).markdown() + "\n";
  }
  for (const std::string& note : estimator_notes(results.runs)) text += note + "\n\n";
  for (const EstimatorRun& run : results.runs) {
    text += fmt::format(
        "## {}, by epoch\n\nThe quotient and its interval; alpha and beta are chosen "
        "for each epoch.\n\n{}\n",
        task_title(run), estimator_epochs(run).markdown());
  }
  for (const auto& [data, why] : results.missing) {
    text += fmt::format("{}: no data: {}\n\n", data, why);
  }
  for (const auto& [name, value] : results.facts) text += fmt::format("- {}: {}\n", name, value);
  return text;
}

}  // namespace tandem::paper
