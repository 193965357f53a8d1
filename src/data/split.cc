// SPDX-License-Identifier: MIT
#include "data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/random.h"
#include "data/table.h"

namespace tandem::data {

Split split_rows(std::size_t rows, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1)) {
    throw std::invalid_argument(
        fmt::format("Invalid validation fraction {}, expected 0 <= fraction < 1", fraction));
  }
  Split split{.train = all_rows(rows), .validation = {}};
  if (fraction == 0) return split;
  const auto held_out =
      static_cast<std::size_t>(std::llround(fraction * static_cast<double>(rows)));
  if (held_out == 0 || held_out == rows) {
    throw std::invalid_argument(fmt::format(
        "Invalid validation fraction {}: it holds out {} of {} rows", fraction, held_out, rows));
  }
  // The first `held_out` steps of Fisher and Yates.
  Random random(seed, 0x73706c6974);
  for (std::size_t i = 0; i < held_out; ++i) {
    std::swap(split.train[i], split.train[i + random.below(rows - i)]);
  }
  const auto cut = split.train.begin() + static_cast<std::ptrdiff_t>(held_out);
  split.validation.assign(split.train.begin(), cut);
  split.train.erase(split.train.begin(), cut);
  std::sort(split.validation.begin(), split.validation.end());
  std::sort(split.train.begin(), split.train.end());
  return split;
}

Dataset take_rows(const Dataset& data, std::span<const std::size_t> rows) {
  Dataset taken;
  taken.name = data.name;
  taken.rows = rows.size();
  taken.features = data.features;
  taken.classes = data.classes;
  taken.class_names = data.class_names;
  if (!data.texts.empty()) {
    for (const std::size_t row : rows) taken.texts.push_back(data.texts[row]);
    return taken;
  }
  taken.sparse = data.sparse;
  if (data.sparse) {
    taken.offsets.push_back(0);
  } else {
    taken.dense = Buffer<float>(rows.size() * data.features);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = rows[i];
    taken.labels.push_back(data.labels[row]);
    if (!data.sparse) {
      std::copy_n(data.dense.data() + row * data.features, data.features,
                  taken.dense.data() + i * data.features);
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(data.offsets[row]);
    const auto last = static_cast<std::ptrdiff_t>(data.offsets[row + 1]);
    taken.columns.insert(taken.columns.end(), data.columns.begin() + first,
                         data.columns.begin() + last);
    taken.values.insert(taken.values.end(), data.values.begin() + first,
                        data.values.begin() + last);
    taken.offsets.push_back(taken.columns.size());
  }
  return taken;
}

}  // namespace tandem::data
