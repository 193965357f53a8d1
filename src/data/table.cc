// SPDX-License-Identifier: MIT
#include "data/table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "data/fields.h"

namespace tandem::data {
namespace {

constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

}  // namespace

std::uint32_t Words::add(std::string_view word) {
  const auto found = numbers_.find(word);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(words_.size());
  words_.emplace_back(word);
  numbers_.emplace(words_.back(), number);
  return number;
}

void sort_classes(Table& table) {
  const std::vector<std::string> before = table.classes.all();
  std::vector<std::string> sorted = before;
  const bool numbers = std::all_of(before.begin(), before.end(), [](const std::string& name) {
    return parse_number(name).has_value();
  });
  std::sort(sorted.begin(), sorted.end(), [&](const std::string& a, const std::string& b) {
    if (numbers && *parse_number(a) != *parse_number(b)) return *parse_number(a) < *parse_number(b);
    return a < b;
  });
  Words classes;
  for (const std::string& name : sorted) classes.add(name);
  for (std::uint32_t& label : table.labels) label = classes.add(before[label]);
  table.classes = std::move(classes);
}

std::vector<std::size_t> all_rows(std::size_t count) {
  std::vector<std::size_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

namespace {

/// Where a scaled column has its 0, and the length that becomes 1.
struct Range {
  double origin = 0;
  double length = 0;
};

Range deviation_of(const std::vector<double>& numbers, std::span<const std::size_t> rows) {
  const auto count = static_cast<double>(rows.size());
  // Relative to the first value: a column of one value then has a variance of exactly 0.
  const double base = rows.empty() ? 0 : numbers[rows.front()];
  double sum = 0;
  for (const std::size_t row : rows) sum += numbers[row] - base;
  const double mean = sum / count;
  double squares = 0;
  for (const std::size_t row : rows) {
    const double deviation = numbers[row] - base - mean;
    squares += deviation * deviation;
  }
  return {base + mean, std::sqrt(squares / count)};
}

Range extent_of(const std::vector<double>& numbers, std::span<const std::size_t> rows) {
  if (rows.empty()) return {};
  double least = numbers[rows.front()];
  double greatest = least;
  for (const std::size_t row : rows) {
    least = std::min(least, numbers[row]);
    greatest = std::max(greatest, numbers[row]);
  }
  return {least, greatest - least};
}

}  // namespace

TableEncoder::TableEncoder(const Table& table, std::span<const std::size_t> rows, Scaling scaling) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (column.categorical) continue;
    Numeric& numeric = numeric_.emplace_back(Numeric{.column = c});
    if (scaling == Scaling::none) continue;
    const Range range = scaling == Scaling::standard ? deviation_of(column.numbers, rows)
                                                     : extent_of(column.numbers, rows);
    numeric.origin = range.origin;
    if (range.length > 0 && std::isfinite(range.length)) {
      numeric.scale = 1 / range.length;
    } else {
      ++constant_;
    }
  }
  inputs_ = numeric_.size();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (!column.categorical) continue;
    Categorical& categorical =
        categorical_.emplace_back(Categorical{.column = c, .first = inputs_});
    std::set<std::uint32_t> ids;
    if (column.every_word) {
      for (std::uint32_t id = 0; id < column.words.size(); ++id) ids.insert(id);
    } else {
      for (const std::size_t row : rows) ids.insert(column.ids[row]);
    }
    for (const std::uint32_t id : ids) categorical.position.emplace(column.words.all()[id], 0);
    std::size_t position = 0;
    for (auto& [word, at] : categorical.position) at = position++;
    inputs_ += position;
  }
}

std::vector<std::size_t> TableEncoder::categories() const {
  std::vector<std::size_t> sizes;
  for (const Categorical& categorical : categorical_) sizes.push_back(categorical.position.size());
  return sizes;
}

std::vector<std::size_t> TableEncoder::inputs_of(const Table& table,
                                                 const Categorical& categorical) const {
  std::vector<std::size_t> inputs;
  for (const std::string& word : table.columns[categorical.column].words.all()) {
    const auto found = categorical.position.find(word);
    inputs.push_back(found == categorical.position.end() ? kUnknown
                                                         : categorical.first + found->second);
  }
  return inputs;
}

std::size_t TableEncoder::unknown(const Table& table, std::span<const std::size_t> rows) const {
  std::size_t count = 0;
  for (const Categorical& categorical : categorical_) {
    const std::vector<std::size_t> inputs = inputs_of(table, categorical);
    for (const std::size_t row : rows) {
      if (inputs[table.columns[categorical.column].ids[row]] == kUnknown) ++count;
    }
  }
  return count;
}

Dataset TableEncoder::encode(const Table& table, std::span<const std::size_t> rows,
                             bool bias) const {
  Dataset data;
  data.rows = rows.size();
  data.features = inputs_ + (bias ? 1 : 0);
  data.classes = table.classes.size();
  data.class_names = table.classes.all();
  data.dense = Buffer<float>(data.rows * data.features);
  // A column at a time: each is read once in order.
  for (std::size_t i = 0; i < numeric_.size(); ++i) {
    const std::vector<double>& numbers = table.columns[numeric_[i].column].numbers;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      data.dense[r * data.features + i] =
          static_cast<float>((numbers[rows[r]] - numeric_[i].origin) * numeric_[i].scale);
    }
  }
  for (const Categorical& categorical : categorical_) {
    const std::vector<std::size_t> inputs = inputs_of(table, categorical);
    const std::vector<std::uint32_t>& ids = table.columns[categorical.column].ids;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::size_t input = inputs[ids[rows[r]]];
      if (input != kUnknown) data.dense[r * data.features + input] = 1;
    }
  }
  data.labels.reserve(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (bias) data.dense[r * data.features + inputs_] = 1;
    data.labels.push_back(table.labels[rows[r]]);
  }
  return data;
}

}  // namespace tandem::data
