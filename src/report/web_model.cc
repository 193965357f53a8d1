// SPDX-License-Identifier: MIT
#include "report/web_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "paper/experiments.h"
#include "report/palette.h"
#include "report/study_figures.h"
#include "report/study_report.h"

namespace tandem::report {
namespace {

using Json = nlohmann::ordered_json;
using study::OptimizerRuns;
using study::Row;
using study::Run;

/// With as many digits as are shown; JSON has no others for it.
Json rounded(double value, int digits = 7) {
  if (!std::isfinite(value)) return nullptr;
  if (std::trunc(value) == value && std::abs(value) < 9e15) return std::int64_t(value);
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

template <class T>
Json column(const std::vector<train::Point>& points, const train::PointField<T>& field) {
  constexpr int kDigits = 7;         // more than a figure shows
  constexpr int kDigitsOfTimes = 4;  // more than a clock tells
  int digits = field.kCounts ? std::numeric_limits<double>::max_digits10 : kDigits;
  if constexpr (std::is_same_v<T, double>) {
    if (field.member == &train::Point::seconds) digits = kDigitsOfTimes;
  }
  Json values = Json::array();
  for (const train::Point& point : points) {
    values.push_back(rounded(static_cast<double>(point.*field.member), digits));
  }
  return values;
}

/// The keys that the tree above it has already are left out, and the curve of best-of-n is thinned:
/// a point for each n of a grid of 900 is more than all the rest.
Json web_row(const Row& row) {
  Json json = study::to_json(row);
  for (const char* key : {"study", "data", "model", "lambda", "optimizer", "task", "method",
                          "baseline", "ablation", "pruned"}) {
    json.erase(key);
  }
  Json thin = Json::array();
  std::size_t next = 1;
  for (const study::BestOf& best : row.best_of) {
    if (best.n < next && best.n != row.best_of.back().n) continue;
    thin.push_back({{"n", best.n},
                    {"expected", rounded(best.expected)},
                    {"low", rounded(best.low)},
                    {"median", rounded(best.median)},
                    {"high", rounded(best.high)}});
    next = std::max(best.n + 1, best.n * 9 / 8);
  }
  json["best_of"] = std::move(thin);
  return json;
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Numbers in rising order, other values as they were written.
std::vector<std::string> in_order(std::vector<std::string> values) {
  const bool numbers = std::all_of(values.begin(), values.end(),
                                   [](const auto& value) { return number_of(value).has_value(); });
  if (numbers) {
    std::sort(values.begin(), values.end(),
              [](const auto& a, const auto& b) { return *number_of(a) < *number_of(b); });
  }
  return values;
}

Json web_grid(const OptimizerRuns& optimizer) {
  Json grid = {{"values", Json::object()},
               {"settings", Json::object()},
               {"loss", Json::array()},
               {"diverged", Json::array()},
               {"pruned", Json::array()}};
  for (const auto& [name, written] : optimizer.grid) {
    const std::vector<std::string> values = in_order(written);
    std::unordered_map<std::string_view, std::size_t> place_of;
    for (const std::string& value : values) place_of.emplace(value, place_of.size());
    Json places = Json::array();
    for (const Run& run : optimizer.tuned) {
      const auto value = run.options.find(name);
      places.push_back(value == run.options.end() ? 0 : place_of.at(value->second));
    }
    grid["values"][name] = values;
    grid["settings"][name] = std::move(places);
  }
  for (std::size_t i = 0; i < optimizer.tuned.size(); ++i) {
    const Run& run = optimizer.tuned[i];
    const std::optional<double> loss = study::min_loss(run);
    grid["loss"].push_back(loss ? rounded(*loss) : Json(nullptr));
    if (study::failed(run)) grid["diverged"].push_back(i);
    if (run.pruned) grid["pruned"].push_back(i);
  }
  return grid;
}

/// gnuplot's "(8,4)" as a list.
Json dash_of(const Style& style) {
  Json lengths = Json::array();
  const std::string_view pattern = dash_pattern(style.dash);
  int length = 0;
  bool digits = false;
  for (const char c : pattern) {
    if (c >= '0' && c <= '9') {
      length = 10 * length + (c - '0');
      digits = true;
    } else if (digits) {
      lengths.push_back(length);
      length = 0;
      digits = false;
    }
  }
  return lengths;
}

Json paper_of(const study::TaskRuns& task, const OptimizerRuns& optimizer) {
  const paper::PaperCell* cell =
      paper::paper_cell(task.data, task.model, task.lambda, optimizer.label);
  if (cell == nullptr) return nullptr;
  return {{"rho", cell->rho ? Json(*cell->rho) : Json(nullptr)},
          {"mark", cell->mark != 0 ? Json(std::string(1, cell->mark)) : Json(nullptr)}};
}

/// Series of one task that would look the same get different dashes, as in figures.
Style style_among(const std::string& label, std::vector<Style>& taken) {
  Style style = style_of(label);
  for (int i = 0; i < kDashes; ++i) {
    if (std::find(taken.begin(), taken.end(), style) == taken.end()) break;
    style.dash = (style.dash + 1) % kDashes;
  }
  taken.push_back(style);
  return style;
}

Json web_task(const study::StudyRuns& study, const study::TaskRuns& task,
              const std::vector<Row>& rows) {
  Json json = {{"name", task.name},        {"title", task_title(task)},
               {"data", task.data},        {"model", task.model},
               {"lambda", task.lambda},    {"batch", task.batch},
               {"samples", task.samples},  {"dimension", task.dimension},
               {"optimum", Json(nullptr)}, {"optimizers", Json::array()}};
  if (task.optimum && std::isfinite(*task.optimum)) json["optimum"] = *task.optimum;
  const bool of_the_paper = study.command.rfind("tandem paper ", 0) == 0;
  std::vector<Style> taken;
  for (const OptimizerRuns& optimizer : task.optimizers) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) {
      return one.task == task.name && one.optimizer == optimizer.label;
    });
    const Style style = style_among(optimizer.label, taken);
    Json runs = Json::array();
    for (const Run& run : optimizer.measured) {
      runs.push_back(
          {{"seed", run.seed}, {"diverged", run.diverged}, {"points", web_points(run.points)}});
    }
    Json one = {{"label", optimizer.label},
                {"method", optimizer.method},
                {"baseline", optimizer.baseline},
                {"ablation", optimizer.ablation},
                {"colour", fmt::format("#{:06x}", style.rgb)},
                {"dash", dash_of(style)},
                {"setting", row == rows.end() ? "" : setting_text(study, *row)},
                {"row", row == rows.end() ? Json(nullptr) : web_row(*row)},
                {"runs", std::move(runs)},
                {"grid", web_grid(optimizer)}};
    if (Json paper = of_the_paper ? paper_of(task, optimizer) : Json(nullptr); !paper.is_null()) {
      one["paper"] = std::move(paper);
    }
    json["optimizers"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

Json web_points(const std::vector<train::Point>& points) {
  Json json = Json::object();
  train::for_each_point_field([&](auto field) {
    const auto finite = [&](const train::Point& point) {
      return std::isfinite(static_cast<double>(point.*field.member));
    };
    if (field.optional && std::none_of(points.begin(), points.end(), finite)) return;
    json[field.name] = column(points, field);
  });
  return json;
}

Json web_study(const study::StudyRuns& study, const std::vector<Row>& rows) {
  Json json = {{"name", study.name},
               {"summary", summary(study, rows)},
               {"explanation", explanation(study, rows)},
               {"complete", study.complete},
               {"pruned", study.pruned},
               {"epochs", study.epochs},
               {"tune_seed", study.tune_seed},
               {"seeds", study.seeds},
               {"command", study.command},
               {"version", study.version},
               {"target", study.target},
               {"machine", study.machine},
               {"created", study.created},
               {"text", study.text},
               {"tasks", Json::array()}};
  for (const study::TaskRuns& task : study.tasks) {
    json["tasks"].push_back(web_task(study, task, rows));
  }
  return json;
}

}  // namespace tandem::report
