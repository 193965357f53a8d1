// SPDX-License-Identifier: MIT
#include "data/describe.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::data {
namespace {

struct Range {
  float low = std::numeric_limits<float>::max();
  float high = std::numeric_limits<float>::lowest();
  std::size_t seen = 0;

  void add(float value) {
    low = std::min(low, value);
    high = std::max(high, value);
    ++seen;
  }
};

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Lengths lengths_of(const std::vector<Text>& texts, std::string Text::*part) {
  if (texts.empty()) return {};
  std::vector<std::size_t> lengths;
  for (const Text& text : texts) lengths.push_back(characters(text.*part));
  std::ranges::sort(lengths);
  return {lengths.front(), lengths[lengths.size() / 2], lengths.back()};
}

}  // namespace

Description describe(const Dataset& data) {
  Description result;
  result.prompts = lengths_of(data.texts, &Text::prompt);
  result.responses = lengths_of(data.texts, &Text::response);
  result.class_counts.resize(data.classes);
  for (const std::uint32_t label : data.labels) ++result.class_counts[label];

  std::vector<Range> ranges(data.features);
  double sum = 0;
  double squares = 0;
  std::size_t nonzero = 0;
  const auto add = [&](std::size_t column, float value) {
    ranges[column].add(value);
    sum += value;
    squares += static_cast<double>(value) * value;
    nonzero += value != 0 ? 1 : 0;
  };
  if (data.sparse) {
    for (std::size_t i = 0; i < data.values.size(); ++i) add(data.columns[i], data.values[i]);
  } else {
    for (std::size_t row = 0; row < data.rows; ++row) {
      for (std::size_t j = 0; j < data.features; ++j) add(j, data.dense[row * data.features + j]);
    }
  }
  Range all;
  for (Range& range : ranges) {
    if (range.seen < data.rows) range.add(0);
    if (range.low == range.high) ++result.constant_features;
    all.add(range.low);
    all.add(range.high);
  }
  const double count = static_cast<double>(data.rows) * static_cast<double>(data.features);
  if (count == 0) return result;
  result.minimum = all.low;
  result.maximum = all.high;
  result.mean = sum / count;
  result.deviation = std::sqrt(std::max(0.0, squares / count - result.mean * result.mean));
  result.nonzero = static_cast<double>(nonzero) / count;
  return result;
}

}  // namespace tandem::data
