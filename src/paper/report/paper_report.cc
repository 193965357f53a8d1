// SPDX-License-Identifier: MIT
#include "paper/report/paper_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "base/atomic_file.h"
#include "data/compressed.h"
#include "paper/controls.h"
#include "paper/experiments.h"
#include "report/escape.h"
#include "report/page.h"
#include "report/render.h"
#include "report/study_report.h"

namespace tandem::paper {
namespace {

using report::Figure;
using report::Table;
using study::OptimizerRuns;
using study::Row;
using study::Run;
using study::StudyRuns;
using study::TaskRuns;
using Align = Table::Align;

std::string with_mark(double rho, char mark) {
  const std::string number = fmt::format("{:+.3g}", 1e3 * rho);
  return mark == 0 ? number : fmt::format("{} {}", number, mark);
}

std::string ours(const Row& row) {
  if (row.rho) return with_mark(*row.rho, row.mark.value_or(0));
  if (row.members > 0 && row.diverged == row.members) return "diverged";
  return row.measured_diverged > 0 ? "diverged -" : "";
}

std::string cell_text(const Row& row) {
  const PaperCell* cell = paper_cell(row.data, row.model, row.lambda, row.optimizer);
  if (cell == nullptr) return ours(row);
  return fmt::format("{} ({})", ours(row), cell->rho ? with_mark(*cell->rho, cell->mark) : "N/A");
}

template <class T>
void add_once(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// Labels whose runs on the tuning seed are those of another's grid.
std::set<std::string> parts_of(const StudyRuns& study) {
  std::set<std::string> labels;
  for (const study::OptimizerSpec& spec : study::optimizers_of(study.text)) {
    if (!spec.part_of.empty()) labels.insert(spec.label);
  }
  return labels;
}

/// Rows are many and alike: a tenth of the size, and readers of CSV take them as they are.
void write_rows(const std::filesystem::path& path,
                const std::function<void(std::ostream&)>& write) {
  std::ostringstream rows;
  write(rows);
  write_atomically(path, [&](std::ostream& stream) { stream << data::gzip(rows.view()); });
}

/// Empty where there is none.
std::string field(double value) { return std::isfinite(value) ? fmt::format("{:.9g}", value) : ""; }

void write_runs(const std::filesystem::path& path, const StudyRuns& study) {
  write_rows(path, [&](std::ostream& stream) {
    fmt::print(
        stream,
        "task,optimizer,seed,epoch,gradient_evaluations,train_loss,data_loss,validation_loss\n");
    for (const TaskRuns& task : study.tasks) {
      for (const OptimizerRuns& optimizer : task.optimizers) {
        for (const Run& run : optimizer.measured) {
          for (const train::Point& point : run.points) {
            fmt::print(stream, "{},{},{},{},{},{:.9g},{},{}\n", report::csv_field(task.name),
                       report::csv_field(optimizer.label), run.seed, point.epoch,
                       point.gradient_evaluations, point.train_loss, field(point.data_loss),
                       field(point.validation_loss));
          }
        }
      }
    }
  });
}

void write_grid(const std::filesystem::path& path, const StudyRuns& study) {
  std::set<std::string> names;
  for (const TaskRuns& task : study.tasks) {
    for (const OptimizerRuns& optimizer : task.optimizers) {
      for (const auto& [name, values] : optimizer.grid) names.insert(name);
    }
  }
  const std::set<std::string> parts = parts_of(study);
  write_rows(path, [&](std::ostream& stream) {
    fmt::print(stream, "task,optimizer,{},least_train_loss,outcome\n", fmt::join(names, ","));
    for (const TaskRuns& task : study.tasks) {
      for (const OptimizerRuns& optimizer : task.optimizers) {
        if (parts.contains(optimizer.label)) continue;  // its runs are those of the whole grid
        for (const Run& run : optimizer.tuned) {
          fmt::print(stream, "{},{}", report::csv_field(task.name),
                     report::csv_field(optimizer.label));
          for (const std::string& name : names) {
            const auto option = run.options.find(name);
            fmt::print(stream, ",{}",
                       option == run.options.end() ? "" : report::csv_field(option->second));
          }
          const auto loss = study::min_loss(run);
          fmt::print(stream, ",{},{}\n", loss ? fmt::format("{:.9g}", *loss) : "",
                     study::failed(run) ? "diverged"
                     : run.pruned       ? "pruned"
                                        : "finished");
        }
      }
    }
  });
}

/// Losses and the best of n; the gap where F* is known; else what the paper shows: standardised
/// losses and their deviation. For language models the validation loss, as the paper shows it.
std::vector<Figure> figures_of(const StudyRuns& study) {
  const std::vector<Row> rows = compare(study);
  std::vector<Figure> figures;
  for (const TaskRuns& task : study.tasks) {
    for (Figure& figure : report::study_figures(task, rows)) {
      const auto is = [&](const char* kind) { return figure.name.ends_with(kind); };
      const bool wanted = is("-loss") || is("-best-of-n") || is("-gap") ||
                          (is("-validation") && task.model.starts_with("llama:")) ||
                          (!task.optimum && (is("-standardised") || is("-deviation")));
      if (wanted) figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace

Table beside_paper(const std::vector<Row>& rows, const std::vector<std::string>& missing) {
  std::vector<std::string> optimizers;
  std::vector<std::string> tasks;
  std::map<std::pair<std::string, std::string>, const Row*> cells;
  for (const Row& row : rows) {
    add_once(tasks, row.task);
    if (!row.baseline) add_once(optimizers, row.optimizer);
    cells[{row.task, row.optimizer}] = &row;
  }
  std::vector<Table::Column> columns{{"task"}};
  for (const std::string& optimizer : optimizers) columns.push_back({optimizer, Align::right});
  if (optimizers.empty()) columns.push_back({"rho"});  // where nothing was run, that is said
  Table table(columns);
  for (const std::string& task : tasks) {
    std::vector<std::string> line{task};
    for (const std::string& optimizer : optimizers) {
      const auto found = cells.find({task, optimizer});
      line.push_back(found == cells.end() ? "" : cell_text(*found->second));
    }
    table.add(std::move(line));
  }
  for (const std::string& task : missing) {
    std::vector<std::string> line(columns.size(), "no data");
    line.front() = task;
    table.add(std::move(line));
  }
  return table;
}

Table control_table(const std::vector<Row>& rows) {
  Table table({{"task"},
               {"optimizer"},
               {"rho x 1e3", Align::right},
               {"95 % interval", Align::right},
               {"p (Holm)", Align::right},
               {"at an equal number of settings", Align::right},
               {"settings", Align::right}});
  for (const Row& row : rows) {
    table.add({row.task, row.optimizer, ours(row),
               row.interval ? fmt::format("[{:+.3g}, {:+.3g}]", 1e3 * (*row.interval)[0],
                                          1e3 * (*row.interval)[1])
                            : "",
               row.p_holm ? fmt::format("{:.2g}", *row.p_holm) : "",
               row.rho_budget ? fmt::format("{:+.3g}", 1e3 * *row.rho_budget) : "",
               row.budget > 0 ? std::to_string(row.budget) : ""});
  }
  return table;
}

Table chosen_table(const std::vector<StudyRuns>& studies) {
  Table table({{"task"},
               {"optimizer"},
               {"chosen setting"},
               {"least loss", Align::right},
               {"gap to F*", Align::right},
               {"settings", Align::right},
               {"diverged", Align::right}});
  for (const StudyRuns& study : studies) {
    for (const Row& row : compare(study)) {
      table.add({row.task, row.optimizer, report::setting_text(study, row),
                 report::mean_text(row.min_loss, "{:.6f}"), report::mean_text(row.gap, "{:.2e}"),
                 std::to_string(row.members), std::to_string(row.diverged)});
    }
  }
  return table;
}

Table epochs_table(const std::vector<StudyRuns>& studies) {
  std::vector<std::size_t> epochs;
  for (const StudyRuns& study : studies) {
    for (const RhoByEpochs& line : rho_by_epochs(study)) {
      for (const std::size_t last : line.epochs) add_once(epochs, last);
    }
  }
  std::sort(epochs.begin(), epochs.end());
  std::vector<Table::Column> columns{{"task"}, {"optimizer"}};
  for (const std::size_t last : epochs)
    columns.push_back({fmt::format("T = {}", last), Align::right});
  columns.push_back({"the paper", Align::right});
  Table table(columns);
  for (const StudyRuns& study : studies) {
    for (const RhoByEpochs& line : rho_by_epochs(study)) {
      std::vector<std::string> cells{line.task, line.optimizer};
      for (const std::size_t last : epochs) {
        const auto at = std::find(line.epochs.begin(), line.epochs.end(), last);
        const auto rho = at == line.epochs.end()
                             ? std::nullopt
                             : line.rho[static_cast<std::size_t>(at - line.epochs.begin())];
        cells.push_back(rho ? with_mark(*rho, 0) : "");
      }
      const TaskRuns& task =
          *std::find_if(study.tasks.begin(), study.tasks.end(),
                        [&](const TaskRuns& each) { return each.name == line.task; });
      const PaperCell* cell = paper_cell(task.data, task.model, task.lambda, line.optimizer);
      cells.push_back(cell != nullptr && cell->rho ? with_mark(*cell->rho, cell->mark) : "");
      table.add(std::move(cells));
    }
  }
  return table;
}

Effort effort_of(const StudyRuns& study) {
  Effort effort;
  const std::set<std::string> parts = parts_of(study);
  const auto add = [&](const Run& run) {
    if (run.points.empty()) return;
    effort.member_epochs += static_cast<double>(run.points.size() - 1);
    effort.seconds += run.points.back().seconds;
  };
  for (const TaskRuns& task : study.tasks) {
    for (const OptimizerRuns& optimizer : task.optimizers) {
      if (parts.contains(optimizer.label)) continue;
      effort.members += optimizer.tuned.size();
      effort.runs += optimizer.measured.size() + optimizer.others.size();
      for (const auto* runs : {&optimizer.tuned, &optimizer.measured, &optimizer.others}) {
        for (const Run& run : *runs) add(run);
      }
    }
  }
  return effort;
}

std::string paper_page(const PaperResults& results, const std::vector<Link>& figures,
                       const std::string& interactive) {
  const std::vector<Row> rows =
      rows_of(results.studies, [](const StudyRuns& study) { return study::compare(study); });
  std::vector<std::string> missing;
  for (const auto& [study, why] : results.missing) missing.push_back(study);
  std::string page = fmt::format("# {}\n\n```sh\n{}\n```\n\n", results.title, results.command);
  if (!results.note.empty()) page += results.note + "\n\n";
  if (!interactive.empty()) {
    page += fmt::format(
        "[{0}]({0}) has the same to explore, with every setting that was tried.\n\n", interactive);
  }
  if (!results.studies.empty()) {
    page += fmt::format("tandem {}, {}.\n\n", results.studies.front().version,
                        results.studies.front().machine);
  }
  Table effort({{"study"},
                {"epochs", Align::right},
                {"settings", Align::right},
                {"measured runs", Align::right},
                {"member-epochs", Align::right},
                {"seconds of training", Align::right},
                {"member-epochs a second", Align::right}});
  for (const StudyRuns& study : results.studies) {
    const Effort own = effort_of(study);
    effort.add({study.name + (study.complete ? "" : " (not complete)"),
                std::to_string(study.epochs), std::to_string(own.members), std::to_string(own.runs),
                fmt::format("{:.0f}", own.member_epochs), fmt::format("{:.0f}", own.seconds),
                own.seconds > 0 ? fmt::format("{:.3g}", own.member_epochs / own.seconds) : ""});
  }
  page += effort.markdown();
  page +=
      "\n## Against Adam\n\nrho x 1e3 and its mark by the paper's test: ours (the paper's).\n\n" +
      beside_paper(report::part_of_rows(rows, false), missing).markdown();
  for (const auto& [study, why] : results.missing) {
    page += fmt::format("\n{}: no data. {}\n", study, why.substr(0, why.find('\n')));
  }
  const std::vector<Row> ablations = report::part_of_rows(rows, true);
  if (!ablations.empty()) {
    page += "\n## Ablations, against Adam\n\n" + beside_paper(ablations, {}).markdown();
  }
  if (const std::vector<Row> wide = rows_of(results.studies, against_wide_adam); !wide.empty()) {
    page += "\n## Against Adam with TO's rates too\n\n" + control_table(wide).markdown();
  }
  const std::vector<Row> learning = rows_of(results.studies, against_no_learning);
  if (!learning.empty()) {
    page +=
        "\n## What learning A contributes\n\nForms of TO with alpha > 0 against the best with "
        "alpha = 0, which is momentum (adam-to: against adam-to with alpha = 0).\n\n" +
        control_table(learning).markdown();
  }
  if (!ablations.empty() || !learning.empty()) {
    page += fmt::format("\n{}\n", verdict_text(verdicts(results.studies)));
  }
  if (const Table epochs = epochs_table(results.studies); epochs.rows() > 0) {
    page +=
        "\n## By the number of epochs\n\nThe paper does not say how many epochs it trained. rho x "
        "1e3 on the tuning seed alone, had training ended after T epochs: the best setting of "
        "each grid by then.\n\n" +
        epochs.markdown();
  }
  page += "\n## What tuning chose\n\n! marks a value at an end of its grid.\n\n" +
          chosen_table(results.studies).markdown();
  if (!figures.empty()) {
    page += "\n## Figures\n";
    for (const Link& figure : figures)
      page += fmt::format("\n![{}]({})\n", figure.title, figure.path);
  }
  return page;
}

std::filesystem::path write_paper(const std::filesystem::path& folder, const std::string& name,
                                  const PaperResults& results) {
  std::filesystem::create_directories(folder);
  std::vector<Link> links;
  for (const StudyRuns& study : results.studies) {
    const std::string stem = study.name + results.suffix;
    write_runs(folder / (stem + "-runs.csv.gz"), study);
    write_grid(folder / (stem + "-grid.csv.gz"), study);
    if (!report::figures_available()) continue;
    const std::vector<Figure> figures = figures_of(study);
    const auto paths = report::write_figures(folder / "figures" / stem, figures,  //
                                             {.svg = true, .png = false});
    for (std::size_t i = 0; i < figures.size(); ++i) {
      links.push_back({figures[i].title, paths.at(i).lexically_relative(folder).generic_string()});
    }
  }
  std::filesystem::path path = folder / (name + ".md");
  std::string interactive;
  if (report::web_available() && !results.only_static && !results.studies.empty()) {
    interactive = name + ".html";
    report::write_page(folder / interactive, {.title = results.title,
                                              .note = results.note,
                                              .command = results.command + " --out FOLDER",
                                              .studies = results.studies});
  }
  const std::string page = paper_page(results, links, interactive);
  write_atomically(path, [&](std::ostream& stream) { stream << page; });
  return path;
}

}  // namespace tandem::paper
