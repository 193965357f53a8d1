// SPDX-License-Identifier: MIT
#include "serve/run_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/suggest.h"
#include "serve/url.h"
#include "store/store.h"
#include "study/comparison.h"

namespace tandem::serve {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kColumns{"id",   "task", "optimizer", "phase",
                                        "seed", "loss", "outcome",   "options"};
const std::vector<std::string> kPhases{"all", "tune", "measure"};
const std::vector<std::string> kOutcomes{"all", "finished", "diverged", "pruned"};
const std::vector<std::string> kDirections{"ascending", "descending"};

std::string one_of(std::string_view query, const char* name, const std::vector<std::string>& values,
                   const std::string& otherwise) {
  const std::optional<std::string> value = query_value(query, name);
  if (!value) return otherwise;
  if (std::find(values.begin(), values.end(), *value) != values.end()) return *value;
  throw std::invalid_argument(
      fmt::format("unknown {} '{}'{}", name, *value, suggestion(*value, values)));
}

std::size_t number_of(std::string_view query, const char* name, std::size_t otherwise,
                      std::size_t most) {
  const std::optional<std::string> text = query_value(query, name);
  if (!text) return otherwise;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value > most) {
    throw std::invalid_argument(
        fmt::format("{} is '{}', expected a number from 0 to {}", name, *text, most));
  }
  return value;
}

/// Letters of ASCII alone: the others are the same in either case only by tables.
std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// As people order names: in either case, and digits as the number that they are.
int compare_words(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digits = [](std::string_view text, std::size_t& place) {
    while (place < text.size() && text[place] == '0') ++place;
    const std::size_t start = place;
    while (place < text.size() && is_digit(text[place])) ++place;
    return text.substr(start, place - start);
  };
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = digits(a, i);
      const std::string_view y = digits(b, j);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return order;
      continue;
    }
    const int order = std::tolower(static_cast<unsigned char>(a[i++])) -
                      std::tolower(static_cast<unsigned char>(b[j++]));
    if (order != 0) return order;
  }
  if (i < a.size()) return 1;
  return j < b.size() ? -1 : 0;
}

template <class T>
int three_way(const T& a, const T& b) {
  if (a < b) return -1;
  return b < a ? 1 : 0;
}

std::string setting_of(const OptionMap& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

}  // namespace

RunQuery parse_run_query(std::string_view query) {
  const RunQuery standard;
  return {
      .words = query_value(query, "words").value_or(""),
      .phase = one_of(query, "phase", kPhases, standard.phase),
      .outcome = one_of(query, "outcome", kOutcomes, standard.outcome),
      .order = one_of(query, "order", kColumns, standard.order),
      .descending = one_of(query, "direction", kDirections, kDirections[0]) == kDirections[1],
      .offset = number_of(query, "offset", 0, std::numeric_limits<std::size_t>::max() - kMostRuns),
      .count = number_of(query, "count", standard.count, kMostRuns)};
}

std::string_view RunTable::Line::outcome() const {
  if (diverged) return "diverged";
  return pruned ? "pruned" : "finished";
}

RunTable::RunTable(const store::Store& store, std::int64_t study) {
  for (const store::Task& task : store.tasks(study)) {
    for (store::MemberRow& member : store.members(task.id, store::Curves::outline)) {
      const study::Run run{.diverged = member.diverged, .points = std::move(member.points)};
      lines_.push_back(
          {.id = member.id,
           .task = tasks_.size(),
           .optimizer = std::move(member.optimizer),
           .phase = member.phase == store::Phase::tune ? kPhases[1] : kPhases[2],
           .seed = member.seed,
           .loss = study::min_loss(run).value_or(std::numeric_limits<double>::quiet_NaN()),
           .diverged = member.diverged,
           .pruned = member.pruned,
           .options = nlohmann::json(member.options).dump(),
           .setting = setting_of(member.options)});
    }
    tasks_.push_back(task.key);
  }
}

bool RunTable::matches(const Line& line, const std::vector<std::string>& words) const {
  if (words.empty()) return true;
  const std::string text = lower(
      fmt::format("{} {} seed {} {}", line.optimizer, tasks_[line.task], line.seed, line.setting));
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

int RunTable::compare(const Line& a, const Line& b, const std::string& column) const {
  if (column == "id") return three_way(a.id, b.id);
  if (column == "task") return compare_words(tasks_[a.task], tasks_[b.task]);
  if (column == "optimizer") return compare_words(a.optimizer, b.optimizer);
  if (column == "phase") return compare_words(a.phase, b.phase);
  if (column == "seed") return three_way(a.seed, b.seed);
  if (column == "outcome") return compare_words(a.outcome(), b.outcome());
  if (column == "options") return compare_words(a.setting, b.setting);
  return three_way(a.loss, b.loss);
}

Json RunTable::page(const RunQuery& query) const {
  std::istringstream text(lower(query.words));
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  std::vector<const Line*> found;
  for (const Line& line : lines_) {
    if (query.phase != "all" && line.phase != query.phase) continue;
    if (query.outcome != "all" && line.outcome() != query.outcome) continue;
    if (matches(line, words)) found.push_back(&line);
  }
  const std::size_t first = std::min(query.offset, found.size());
  const std::size_t last = first + std::min(query.count, found.size() - first);
  // Equal lines by their place, whichever way the others go.
  const auto before = [&](const Line* a, const Line* b) {
    if (query.order == "loss" && std::isnan(a->loss) != std::isnan(b->loss)) {
      return std::isnan(b->loss);
    }
    const int order = compare(*a, *b, query.order);
    if (order == 0) return a < b;
    return query.descending ? order > 0 : order < 0;
  };
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(last), found.end(),
                    before);
  Json json = {{"tasks", tasks_},
               {"total", lines_.size()},
               {"found", found.size()},
               {"runs", Json::array()}};
  for (std::size_t i = first; i < last; ++i) {
    const Line& line = *found[i];
    json["runs"].push_back({{"id", line.id},
                            {"task", line.task},
                            {"optimizer", line.optimizer},
                            {"phase", line.phase},
                            {"seed", line.seed},
                            {"loss", std::isnan(line.loss) ? Json(nullptr) : Json(line.loss)},
                            {"diverged", line.diverged},
                            {"pruned", line.pruned},
                            {"options", Json::parse(line.options)}});
  }
  return json;
}

}  // namespace tandem::serve
