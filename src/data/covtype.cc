// SPDX-License-Identifier: MIT
#include "data/covtype.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "data/fail.h"
#include "data/fields.h"
#include "data/line_reader.h"

namespace tandem::data {
namespace {

constexpr std::array<const char*, 10> kNumeric = {
    "elevation",     "aspect",        "slope",          "hydrology_distance", "hydrology_height",
    "road_distance", "hillshade_9am", "hillshade_noon", "hillshade_3pm",      "fire_distance"};
constexpr std::size_t kAreas = 4;
constexpr std::size_t kSoils = 40;
constexpr std::size_t kFields = kNumeric.size() + kAreas + kSoils + 1;

Column binary_column(std::string name) {
  Column column{.name = std::move(name), .categorical = true, .every_word = true};
  column.words.add("0");
  column.words.add("1");
  return column;
}

}  // namespace

Table read_covtype(ByteSource& source) {
  Table table;
  for (const char* name : kNumeric) table.columns.push_back({.name = name});
  for (std::size_t i = 1; i <= kAreas; ++i) {
    table.columns.push_back(binary_column(fmt::format("area_{}", i)));
  }
  for (std::size_t i = 1; i <= kSoils; ++i) {
    table.columns.push_back(binary_column(fmt::format("soil_{}", i)));
  }
  for (char name = '1'; name <= '7'; ++name) table.classes.add({&name, 1});

  LineReader lines(source, 4096);
  FieldSplitter splitter;
  for (std::string_view line; lines.next(line);) {
    if (trim(line).empty()) continue;
    const auto* fields = splitter.split(line);
    const auto stop = [&](std::size_t field, std::string_view expected) {
      fail<DataError>(lines.name(), at_line(lines.number(), std::to_string(field + 1)),
                      shown((*fields)[field]), expected);
    };
    if (fields == nullptr || fields->size() != kFields) {
      fail<DataError>(
          lines.name(), at_line(lines.number()),
          fields == nullptr ? std::string("a quote") : fmt::format("{} fields", fields->size()),
          fmt::format("{}", kFields));
    }
    for (std::size_t i = 0; i + 1 < kFields; ++i) {
      const std::string_view text = (*fields)[i];
      if (i < kNumeric.size()) {
        const std::optional<double> number = parse_number(text);
        if (!number) stop(i, "a number");
        table.columns[i].numbers.push_back(*number);
      } else {
        if (text != "0" && text != "1") stop(i, "0 or 1");
        table.columns[i].ids.push_back(text == "1" ? 1 : 0);
      }
    }
    const std::string_view label = fields->back();
    if (label.size() != 1 || label[0] < '1' || label[0] > '7') {
      stop(kFields - 1, "a class, 1 to 7");
    }
    table.labels.push_back(static_cast<std::uint32_t>(label[0] - '1'));
  }
  if (table.rows() == 0) fail<DataError>(source.name(), "", "no rows", "lines of 55 numbers");
  return table;
}

}  // namespace tandem::data
