// SPDX-License-Identifier: MIT
#include "report/study_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/bytes_text.h"
#include "report/study_figures.h"

namespace tandem::report {
namespace {

using study::Row;
using Align = Table::Align;

std::string number(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "";
}

/// None unless all seeds have one.
std::optional<double> mean(const study::PerSeed& values) {
  double sum = 0;
  for (const auto& value : values) {
    if (!value) return std::nullopt;
    sum += *value;
  }
  if (values.empty()) return std::nullopt;
  return sum / static_cast<double>(values.size());
}

std::string rho_text(const Row& row) {
  if (row.baseline) return "baseline";
  if (row.members > 0 && row.diverged == row.members) {
    return fmt::format("diverged {}/{}", row.diverged, row.members);
  }
  if (row.measured_diverged > 0) {
    return fmt::format("diverged on {} of {} seeds", row.measured_diverged, row.measured);
  }
  return row.rho ? fmt::format("{:+.3f}", 1e3 * *row.rho) : "";
}

std::string interval_text(const Row& row) {
  if (!row.interval) return "";
  return fmt::format("[{:+.3f}, {:+.3f}]", 1e3 * (*row.interval)[0], 1e3 * (*row.interval)[1]);
}

std::vector<std::vector<Row>> by_task(const std::vector<Row>& rows) {
  std::vector<std::vector<Row>> tasks;
  for (const Row& row : rows) {
    if (tasks.empty() || tasks.back().front().task != row.task) tasks.emplace_back();
    tasks.back().push_back(row);
  }
  return tasks;
}

Table with_task_column(std::vector<Table::Column> columns, bool with_task) {
  if (with_task) columns.insert(columns.begin(), {"task", Align::left});
  return Table(std::move(columns));
}

}  // namespace

std::string setting_text(const study::StudyRuns& study, const Row& row) {
  for (const study::TaskRuns& task : study.tasks) {
    if (task.name != row.task) continue;
    for (const study::OptimizerRuns& optimizer : task.optimizers) {
      if (optimizer.label != row.optimizer) continue;
      std::string text;
      for (const auto& [name, values] : optimizer.grid) {
        const auto found = row.options.find(name);
        if (found == row.options.end()) continue;
        const bool edge = std::find(row.edge.begin(), row.edge.end(), name) != row.edge.end();
        text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name, found->second,
                            edge ? "!" : "");
      }
      return text;
    }
  }
  return "";
}

std::string mean_text(const study::PerSeed& values, const char* format) {
  return number(mean(values), format);
}

Table comparison_table(const std::vector<Row>& rows, bool with_task) {
  Table table = with_task_column({{"optimizer"},
                                  {"least loss", Align::right},
                                  {"rho x 1e3", Align::right},
                                  {"mark"},
                                  {"95 % interval", Align::right},
                                  {"p (Holm)", Align::right},
                                  {"gap to F*", Align::right},
                                  {"seconds", Align::right},
                                  {"state", Align::right},
                                  {"grid", Align::right},
                                  {"diverged", Align::right}},
                                 with_task);
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    if (with_task) cells.push_back(row.task);
    cells.insert(cells.end(), {row.optimizer, mean_text(row.min_loss, "{:.6f}"), rho_text(row),
                               row.mark ? std::string(1, *row.mark) : "", interval_text(row),
                               number(row.p_holm, "{:.2g}"), mean_text(row.gap, "{:.2e}"),
                               number(row.seconds, "{:.3f}"),
                               row.state_bytes ? bytes_text(*row.state_bytes) : std::string(),
                               std::to_string(row.members) + (row.pruned ? " (pruned)" : ""),
                               std::to_string(row.diverged)});
    table.add(std::move(cells));
  }
  return table;
}

Table equal_cost_table(const std::vector<Row>& rows, bool with_task) {
  Table table = with_task_column({{"optimizer"},
                                  {"rho x 1e3", Align::right},
                                  {"at equal evaluations", Align::right},
                                  {"at equal seconds", Align::right},
                                  {"at an equal number of settings", Align::right},
                                  {"settings", Align::right}},
                                 with_task);
  const auto thousandth = [](const std::optional<double>& rho) {
    return rho ? fmt::format("{:+.3f}", 1e3 * *rho) : std::string();
  };
  for (const Row& row : rows) {
    if (row.baseline) continue;
    std::vector<std::string> cells;
    if (with_task) cells.push_back(row.task);
    cells.insert(cells.end(), {row.optimizer, rho_text(row), thousandth(row.rho_evaluations),
                               thousandth(row.rho_seconds), thousandth(row.rho_budget),
                               row.budget > 0 ? std::to_string(row.budget) : ""});
    table.add(std::move(cells));
  }
  return table;
}

std::string explanation(const study::StudyRuns& study, const std::vector<Row>& rows) {
  std::string text;
  if (!study.complete) text += "The study is not complete: figures are preliminary. ";
  if (study.pruned) {
    text += "Grids were pruned by successive halving: most settings were not trained to the end. ";
  }
  if (study.report_loss == study::ReportLoss::data) {
    text += "Training losses are without lambda/2 |w|^2, and settings were chosen by them. ";
  }
  text += fmt::format(
      "Tuned on seed {}, measured on {} other{}. rho is (baseline's least loss - least loss) / "
      "baseline's least loss, positive where better; the mark is the paper's one-sided test (+ "
      "better, ~ no difference, - worse), p the two-sided t-test after Holm.",
      study.tune_seed, study.seeds.size(), study.seeds.size() == 1 ? "" : "s");
  for (const std::vector<Row>& task : by_task(rows)) {
    std::string edges;
    for (const Row& row : task) {
      if (row.edge.empty()) continue;
      edges += fmt::format("{}{} ({})", edges.empty() ? "" : ", ", row.optimizer,
                           fmt::join(row.edge, ", "));
    }
    if (edges.empty()) continue;
    text += fmt::format(
        "\n\n{}: the best value is at an end of its grid, and a better one may lie beyond, for {}.",
        task.front().task, edges);
  }
  return text;
}

std::string summary(const study::StudyRuns& study, const std::vector<Row>& rows) {
  std::string text;
  for (const std::vector<Row>& task : by_task(rows)) {
    const Row* best = nullptr;
    std::vector<std::string> better;
    std::vector<std::string> worse;
    std::string baseline;
    for (const Row& row : task) {
      if (row.ablation) continue;
      if (row.baseline) baseline = row.optimizer;
      const auto loss = mean(row.min_loss);
      if (loss && (best == nullptr || *loss < *mean(best->min_loss))) best = &row;
      if (row.mark == '+') better.push_back(row.optimizer);
      if (row.mark == '-') worse.push_back(row.optimizer);
    }
    text += fmt::format("{}{}: ", text.empty() ? "" : "\n\n", task.front().task);
    if (best == nullptr) {
      text += "nothing was measured.";
      continue;
    }
    text += fmt::format("{} has the least loss, {:.6f}", best->optimizer, *mean(best->min_loss));
    if (const auto gap = mean(best->gap)) text += fmt::format(", {:.2e} above the optimum", *gap);
    text += ".";
    if (!baseline.empty()) {
      if (!better.empty()) {
        text += fmt::format(" Better than {} by the paper's test: {}.", baseline,
                            fmt::join(better, ", "));
      }
      if (!worse.empty()) {
        text += fmt::format(" Worse: {}.", fmt::join(worse, ", "));
      }
    }
  }
  if (!study.complete) text += "\n\nThe study is not complete.";
  return text;
}

std::vector<Row> part_of_rows(const std::vector<Row>& rows, bool ablations) {
  std::vector<Row> part;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(part),
               [&](const Row& row) { return row.ablation == ablations; });
  return part;
}

std::vector<Figure> study_figures(const study::TaskRuns& task, const std::vector<Row>& rows) {
  std::vector<BestOfN> best;
  for (const Row& row : rows) {
    if (row.task != task.name || row.ablation || row.best_of.empty()) continue;
    BestOfN curve{.label = row.optimizer, .n = {}, .expected = {}};
    for (const study::BestOf& point : row.best_of) {
      curve.n.push_back(static_cast<double>(point.n));
      curve.expected.push_back(point.expected);
    }
    best.push_back(std::move(curve));
  }
  study::TaskRuns shown = {.name = task.name,
                           .data = task.data,
                           .model = task.model,
                           .lambda = task.lambda,
                           .batch = task.batch,
                           .samples = task.samples,
                           .dimension = task.dimension,
                           .optimum = task.optimum,
                           .optimizers = {}};
  for (const study::OptimizerRuns& runs : task.optimizers) {
    if (runs.ablation) continue;
    shown.optimizers.push_back({.label = runs.label,
                                .method = runs.method,
                                .baseline = runs.baseline,
                                .ablation = false,
                                .grid = runs.grid,
                                .tuned = {},
                                .measured = runs.measured});
  }
  return task_figures(shown, best);
}

std::vector<Figure> study_figures(const study::StudyRuns& study, const std::vector<Row>& rows) {
  std::vector<Figure> figures;
  for (const study::TaskRuns& task : study.tasks) {
    for (Figure& figure : study_figures(task, rows)) figures.push_back(std::move(figure));
  }
  return figures;
}

Document study_document(const study::StudyRuns& study, const std::vector<Row>& rows) {
  Document document;
  document.title = study.name;
  document.summary = summary(study, rows) + "\n\n" + explanation(study, rows);
  for (const study::TaskRuns& task : study.tasks) {
    std::vector<Row> own;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(own),
                 [&](const Row& row) { return row.task == task.name; });
    Section section;
    section.title = task_title(task);
    section.text = fmt::format("{} training samples, {} weights, batches of {}, {} epochs.",
                               task.samples, task.dimension, task.batch, study.epochs);
    if (task.optimum) section.text += fmt::format(" F* = {:.10g}.", *task.optimum);
    section.tables.push_back(
        {comparison_table(part_of_rows(own, false), false), "The best setting of each grid"});
    if (const std::vector<Row> ablations = part_of_rows(own, true); !ablations.empty()) {
      section.tables.push_back({comparison_table(ablations, false), "Ablations"});
    }
    Table chosen({{"optimizer"}, {"chosen setting"}});
    for (const Row& row : own) chosen.add({row.optimizer, setting_text(study, row)});
    section.tables.push_back({chosen, "What tuning chose; ! marks a value at an end of its grid"});
    section.tables.push_back({equal_cost_table(own, false), "The same at equal cost"});
    section.figures = study_figures(task, own);
    document.sections.push_back(std::move(section));
  }
  document.commands = {study.command};
  document.facts = {{"machine", study.machine}, {"tandem", study.version}, {"study", study.text}};
  return document;
}

}  // namespace tandem::report
