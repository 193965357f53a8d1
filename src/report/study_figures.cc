// SPDX-License-Identifier: MIT
#include "report/study_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::report {
namespace {

using study::OptimizerRuns;
using study::Run;
using study::TaskRuns;
using train::Point;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The measured runs that did not diverge.
std::vector<const Run*> used(const OptimizerRuns& optimizer) {
  std::vector<const Run*> runs;
  for (const Run& run : optimizer.measured) {
    if (!run.diverged && !run.points.empty()) runs.push_back(&run);
  }
  return runs;
}

/// Points that every one of the runs has.
std::size_t common(const std::vector<const Run*>& runs) {
  std::size_t count = runs.empty() ? 0 : runs[0]->points.size();
  for (const Run* run : runs) count = std::min(count, run->points.size());
  return count;
}

/// Of a value over the runs, at one point; NaN where one of them has none.
struct Summary {
  double mean, low, high, deviation;
};

template <typename Value>
Summary summary_of(const std::vector<const Run*>& runs, std::size_t at, Value&& value) {
  Summary result{0, std::numeric_limits<double>::infinity(),
                 -std::numeric_limits<double>::infinity(), kNone};
  for (const Run* run : runs) {
    const double v = value(run->points[at]);
    if (!std::isfinite(v)) return {kNone, kNone, kNone, kNone};
    result.mean += v;
    result.low = std::min(result.low, v);
    result.high = std::max(result.high, v);
  }
  const auto count = static_cast<double>(runs.size());
  result.mean /= count;
  if (runs.size() < 2) return result;
  double squares = 0;
  for (const Run* run : runs) squares += std::pow(value(run->points[at]) - result.mean, 2);
  result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

/// A curve for each optimizer that has runs: the mean of y against the mean of x.
template <typename X, typename Y>
std::vector<Series> mean_curves(const TaskRuns& task, X&& x, Y&& y, std::size_t first = 0) {
  std::vector<Series> all;
  for (const OptimizerRuns& optimizer : task.optimizers) {
    const std::vector<const Run*> runs = used(optimizer);
    if (runs.empty()) continue;
    Series series{.label = optimizer.label, .x = {}, .y = {}};
    for (std::size_t at = first; at < common(runs); ++at) {
      const Summary summary = summary_of(runs, at, y);
      series.x.push_back(summary_of(runs, at, x).mean);
      series.y.push_back(summary.mean);
      if (runs.size() < 2) continue;
      series.low.push_back(summary.low);
      series.high.push_back(summary.high);
    }
    all.push_back(std::move(series));
  }
  return all;
}

double epoch_of(const Point& point) { return static_cast<double>(point.epoch); }
double loss_of(const Point& point) { return point.train_loss; }

/// The first of a vector, if there is one.
void drop_first(std::vector<double>& values) {
  if (!values.empty()) values.erase(values.begin());
}

/// Makes the differences between optimizers visible: a start far above all that follows is left out
/// (the note says so), and what still spans more than a power of ten gets a logarithmic axis.
Scale fit_losses(std::vector<Series>& all, std::string& note) {
  double min = std::numeric_limits<double>::infinity();
  double start = 0;
  double later = 0;
  for (const Series& series : all) {
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (!std::isfinite(series.y[i])) continue;
      min = std::min(min, series.y[i]);
      double& max = i == 0 ? start : later;
      max = std::max(max, series.y[i]);
    }
  }
  const bool far = later > 0 && start > 2 * later;
  if (far) {
    note = fmt::format(" The start, at {:.3g}, is left out.", start);
    for (Series& series : all) {
      for (auto* values : {&series.x, &series.y, &series.low, &series.high}) drop_first(*values);
    }
  }
  const double max = far ? later : std::max(start, later);
  return min > 0 && max > 10 * min ? Scale::log : Scale::linear;
}

/// Who is not in the figure, or not with all of its runs, and why.
std::string absences(const TaskRuns& task) {
  std::vector<std::string> diverged;
  std::vector<std::string> missing;
  std::vector<std::string> shorter;
  for (const OptimizerRuns& optimizer : task.optimizers) {
    const auto count = std::count_if(optimizer.measured.begin(), optimizer.measured.end(),
                                     [](const Run& run) { return run.diverged; });
    const auto all = static_cast<std::ptrdiff_t>(optimizer.measured.size());
    if (count > 0) {
      diverged.push_back(fmt::format("{} ({} of {} runs)", optimizer.label, count, all));
    }
    const std::vector<const Run*> runs = used(optimizer);
    if (runs.empty() && count < std::max<std::ptrdiff_t>(all, 1))
      missing.push_back(optimizer.label);
    const std::size_t points = common(runs);
    const bool cut = std::any_of(runs.begin(), runs.end(),
                                 [&](const Run* run) { return run->points.size() > points; });
    if (cut) shorter.push_back(optimizer.label);
  }
  std::string text;
  const auto add = [&](const std::string& what, const std::vector<std::string>& who) {
    if (!who.empty()) text += fmt::format(" {}: {}.", what, fmt::join(who, ", "));
  };
  add("Left out as diverged", diverged);
  add("No measured runs yet", missing);
  add("Drawn as far as all seeds go", shorter);
  return text;
}

std::string averaging(const TaskRuns& task) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  std::size_t most = 0;
  for (const OptimizerRuns& optimizer : task.optimizers) {
    const std::size_t count = used(optimizer).size();
    if (count == 0) continue;
    fewest = std::min(fewest, count);
    most = std::max(most, count);
  }
  if (most == 0) return "No runs to show.";
  if (most == 1) return "One seed.";
  const std::string seeds =
      fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
  return fmt::format("Mean over {} seeds; the band goes from the smallest to the largest value.",
                     seeds);
}

/// A model's name without its options, which may be many: "llama:stories260K.bin".
std::string short_model(const std::string& model) {
  return model.starts_with("llama:") ? model.substr(0, model.find(',')) : model;
}

/// For a file's name: paths in names of models and data sets become words.
std::string file_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '/'; }, '-');
  return text;
}

Figure figure_of(const TaskRuns& task, const std::string& name, const std::string& title) {
  Figure figure;
  figure.name = file_word(
      fmt::format("{}-{}-{:g}-{}", task.data, short_model(task.model), task.lambda, name));
  figure.title = fmt::format("{}: {}", title, task_title(task));
  return figure;
}

Figure loss_against(const TaskRuns& task, const std::string& name, const std::string& title,
                    const std::string& x_label, std::vector<Series> series) {
  Figure figure = figure_of(task, name, title);
  figure.x.label = x_label;
  figure.series = std::move(series);
  std::string note;
  figure.y = {"training loss", fit_losses(figure.series, note)};
  figure.caption = averaging(task) + note;
  return figure;
}

}  // namespace

std::string task_title(const TaskRuns& task) {
  // What makes the task another than the usual one: "init=zeros".
  const std::size_t batch = task.name.find(" batch=");
  const std::size_t rest = batch == std::string::npos ? batch : task.name.find(' ', batch + 1);
  return fmt::format("{}, {}, λ = {:g}{}", task.data, short_model(task.model), task.lambda,
                     rest == std::string::npos ? "" : "," + task.name.substr(rest));
}

Figure loss_figure(const TaskRuns& task) {
  Figure figure =
      loss_against(task, "loss", "Training loss", "epoch", mean_curves(task, epoch_of, loss_of));
  figure.caption += absences(task);
  return figure;
}

std::optional<Figure> validation_figure(const TaskRuns& task) {
  const auto validation_of = [](const Point& point) { return point.validation_loss; };
  Figure figure = loss_against(task, "validation", "Validation loss", "epoch",
                               mean_curves(task, epoch_of, validation_of));
  figure.y.label = "validation loss";
  const bool any =
      std::any_of(figure.series.begin(), figure.series.end(), [](const Series& series) {
        return std::any_of(series.y.begin(), series.y.end(),
                           [](double value) { return std::isfinite(value); });
      });
  if (!any) return std::nullopt;
  figure.caption += absences(task);
  return figure;
}

Figure standardised_figure(const TaskRuns& task) {
  double min = std::numeric_limits<double>::infinity();
  double max = -min;
  for (const OptimizerRuns& optimizer : task.optimizers) {
    for (const Run* run : used(optimizer)) {
      for (std::size_t at = 1; at < run->points.size(); ++at) {
        const double loss = run->points[at].train_loss;
        if (!std::isfinite(loss)) continue;
        min = std::min(min, loss);
        max = std::max(max, loss);
      }
    }
  }
  const double range = max > min ? max - min : 1;
  Figure figure = figure_of(task, "standardised", "Standardised training loss");
  figure.x.label = "epoch";
  figure.y.label = "(F − min) / (max − min)";
  figure.series = mean_curves(
      task, epoch_of, [&](const Point& point) { return (point.train_loss - min) / range; }, 1);
  figure.caption = averaging(task) +
                   " Smallest and largest F are of all optimizers of the task, without the start." +
                   absences(task);
  return figure;
}

std::optional<Figure> deviation_figure(const TaskRuns& task) {
  Figure figure = figure_of(task, "deviation", "Standard deviation over seeds");
  figure.x.label = "epoch";
  figure.y = {"standard deviation of the training loss", Scale::log};
  for (const OptimizerRuns& optimizer : task.optimizers) {
    const std::vector<const Run*> runs = used(optimizer);
    if (runs.size() < 2) continue;
    Series series{.label = optimizer.label, .x = {}, .y = {}};
    for (std::size_t at = 0; at < common(runs); ++at) {
      series.x.push_back(epoch_of(runs[0]->points[at]));
      series.y.push_back(summary_of(runs, at, loss_of).deviation);
    }
    figure.series.push_back(std::move(series));
  }
  if (figure.series.empty()) return std::nullopt;
  figure.caption =
      "Sample standard deviation (n − 1) of the measured seeds at the same epoch." + absences(task);
  return figure;
}

std::optional<Figure> gap_figure(const TaskRuns& task) {
  if (!task.optimum) return std::nullopt;
  Figure figure = figure_of(task, "gap", "Gap to the optimum");
  figure.x.label = "epoch";
  figure.y = {"F − F*", Scale::log};
  figure.series = mean_curves(task, epoch_of,
                              [&](const Point& point) { return point.train_loss - *task.optimum; });
  figure.caption = averaging(task) + fmt::format(" F* = {:.8g}.", *task.optimum) + absences(task);
  return figure;
}

Figure evaluations_figure(const TaskRuns& task) {
  const double samples = task.samples > 0 ? static_cast<double>(task.samples) : 1;
  const auto passes = [&](const Point& point) {
    return static_cast<double>(point.gradient_evaluations) / samples;
  };
  Figure figure = loss_against(task, "evaluations", "Training loss at equal gradient evaluations",
                               task.samples > 0 ? "gradient evaluations (passes over the data)"
                                                : "gradient evaluations (samples)",
                               mean_curves(task, passes, loss_of));
  figure.caption += absences(task);
  return figure;
}

Figure seconds_figure(const TaskRuns& task) {
  const auto seconds = [](const Point& point) { return point.seconds; };
  Figure figure = loss_against(task, "seconds", "Training loss at equal time",
                               "time of training (s)", mean_curves(task, seconds, loss_of));
  figure.caption +=
      " Time is a member's share of its population's, without evaluation, its mean over seeds." +
      absences(task);
  return figure;
}

std::optional<Figure> estimator_figure(const TaskRuns& task) {
  Figure figure = figure_of(task, "estimator", "Error of the gradient estimate");
  figure.x.label = "epoch";
  figure.y = {"|G − ∇F|² / |g − ∇F|²", Scale::log};
  figure.level = 1;
  bool measured = false;
  for (const OptimizerRuns& optimizer : task.optimizers) {
    const std::vector<const Run*> runs = used(optimizer);
    Series series{.label = optimizer.label, .x = {}, .y = {}};
    for (std::size_t at = 1; at < common(runs); ++at) {
      const auto ratio = [](const Point& point) {
        return point.estimator_error / point.batch_error;
      };
      const auto error = [](const Point& point) { return point.estimator_error; };
      const auto batch = [](const Point& point) { return point.batch_error; };
      const Summary summary = summary_of(runs, at, ratio);
      if (!std::isfinite(summary.mean)) continue;  // the source has it at some epochs only
      series.x.push_back(epoch_of(runs[0]->points[at]));
      series.y.push_back(summary_of(runs, at, error).mean / summary_of(runs, at, batch).mean);
      if (runs.size() < 2) continue;
      series.low.push_back(summary.low);
      series.high.push_back(summary.high);
    }
    if (series.x.empty()) continue;
    measured = true;
    figure.series.push_back(std::move(series));
  }
  if (!measured) return std::nullopt;
  figure.caption =
      "Below the line at 1 the optimizer's estimate G is nearer to the full gradient than the "
      "batch's own g. Mean error over mean error of the seeds; the band goes from the smallest to "
      "the largest ratio." +
      absences(task);
  return figure;
}

std::optional<Figure> best_of_figure(const TaskRuns& task, const std::vector<BestOfN>& best) {
  if (best.empty()) return std::nullopt;
  Figure figure = figure_of(task, "best-of-n", "Best of n settings");
  figure.x = {"settings tried (n)", Scale::log};
  for (const BestOfN& curve : best) {
    figure.series.push_back({.label = curve.label, .x = curve.n, .y = curve.expected});
    for (double& loss : figure.series.back().y) loss -= task.optimum.value_or(0);
  }
  figure.y = task.optimum ? Axis{"expected gap of the best, F − F*", Scale::log}
                          : Axis{"expected loss of the best", Scale::linear};
  figure.caption =
      "What the best of n settings, drawn at random from an optimizer's grid, is expected to give: "
      "optimizers compare at the same n, whatever the sizes of their grids.";
  return figure;
}

std::vector<Figure> task_figures(const TaskRuns& task, const std::vector<BestOfN>& best) {
  std::vector<Figure> figures = {loss_figure(task), standardised_figure(task)};
  const auto add = [&](std::optional<Figure> figure) {
    if (figure) figures.push_back(std::move(*figure));
  };
  add(validation_figure(task));
  add(gap_figure(task));
  add(deviation_figure(task));
  add(evaluations_figure(task));
  add(seconds_figure(task));
  add(estimator_figure(task));
  add(best_of_figure(task, best));
  return figures;
}

}  // namespace tandem::report
