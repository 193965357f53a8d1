// SPDX-License-Identifier: MIT
// The columns of a run are made once and stand before each of its points.
#include "export/points.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "report/escape.h"

namespace tandem::exporting {
namespace {

using Json = nlohmann::ordered_json;

/// Names come from files of other people: what is not UTF-8 must not stop the output.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Csv {
  static constexpr const char* kEnd = "\r\n";
  std::string line = {};

  void add(const char* /*name*/, double value) {
    add_raw(std::isnan(value) ? "" : fmt::format("{}", value));
  }
  template <typename Integer>
  requires std::is_integral_v<Integer>
  void add(const char* /*name*/, Integer value) {
    add_raw(fmt::format("{}", value));  // truth values as words
  }
  void add(const char* /*name*/, const std::string& text) { add_raw(report::csv_field(text)); }
  void add(const char* /*name*/, const OptionMap& options) {
    add_raw(report::csv_field(dump(Json(options))));
  }

 private:
  void add_raw(const std::string& field) {
    if (!line.empty()) line += ',';
    line += field;
  }
};

struct JsonLine {
  static constexpr const char* kEnd = "}\n";
  std::string line = {};

  void add(const char* name, double value) {
    add_raw(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
  }
  template <typename Integer>
  requires std::is_integral_v<Integer>
  void add(const char* name, Integer value) { add_raw(name, fmt::format("{}", value)); }
  void add(const char* name, const std::string& text) { add_raw(name, dump(Json(text))); }
  void add(const char* name, const OptionMap& options) { add_raw(name, dump(Json(options))); }

 private:
  void add_raw(const char* name, const std::string& value) {
    line += line.empty() ? '{' : ',';
    line += fmt::format("\"{}\":{}", name, value);
  }
};

/// The names of the columns, by the same list.
struct Titles {
  std::string line = {};
  template <typename Value>
  void add(const char* name, const Value& /*value*/) {
    line += fmt::format("{}{}", line.empty() ? "" : ",", name);
  }
};

template <typename Line>
void add_run(Line& line, const RunRef& run) {
  const double none = std::nan("");
  line.add("study", run.study.name);
  line.add("task", run.task.key);
  line.add("data", run.task.data);
  line.add("model", run.task.model);
  line.add("lambda", run.task.lambda);
  line.add("batch", run.task.batch);
  line.add("optimum", run.task.optimum.value_or(none));
  line.add("optimizer", run.member.optimizer);
  line.add("method", run.member.method);
  line.add("baseline", run.member.baseline);
  line.add("phase", std::string(run.member.phase == store::Phase::tune ? "tune" : "measure"));
  line.add("seed", run.member.seed);
  line.add("run", run.member.id);
  line.add("options", run.member.options);
  line.add("diverged", run.member.diverged);
  line.add("pruned", run.member.pruned);
  line.add("state_bytes", run.member.state_bytes);
}

template <typename Line>
void add_point(Line& line, const train::Point& point) {
  train::for_each_point_field([&](auto field) { line.add(field.name, point.*field.member); });
}

template <typename Line>
std::size_t write_points(const store::Store& store, const Selection& selection,
                         std::ostream& stream) {
  std::size_t written = 0;
  for_each_run(store, selection, Points::with, [&](const RunRef& run) {
    Line head;
    add_run(head, run);
    for (const train::Point& point : run.member.points) {
      Line line = head;
      add_point(line, point);
      stream << line.line << Line::kEnd;
      ++written;
    }
  });
  return written;
}

}  // namespace

std::size_t write_csv(const store::Store& store, const Selection& selection, std::ostream& stream) {
  Titles titles;
  add_run(titles, {.study = {}, .task = {}, .member = {}});
  add_point(titles, {});
  stream << titles.line << Csv::kEnd;
  return write_points<Csv>(store, selection, stream);
}

std::size_t write_json_lines(const store::Store& store, const Selection& selection,
                             std::ostream& stream) {
  return write_points<JsonLine>(store, selection, stream);
}

}  // namespace tandem::exporting
