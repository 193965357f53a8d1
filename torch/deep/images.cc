// SPDX-License-Identifier: MIT
#include "deep/images.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "base/random.h"

namespace tandem::deep {
namespace {

constexpr std::size_t kPlane = kImageSide * kImageSide;

// What random numbers are for: a stream an image of a batch, apart from those of weights.
constexpr std::uint64_t kViewStream = std::uint64_t{1} << 63;
constexpr std::uint64_t kIndexBits = 24;  // enough for the places of a batch

/// Of one channel of one image.
struct Sums {
  double values = 0;
  double squares = 0;
  bool in_range = true;
};

[[noreturn]] void refuse(const data::Dataset& data, const char* part, const std::string& found,
                         const std::string& expected) {
  throw std::invalid_argument(
      fmt::format("Invalid {} images of data set '{}': found {}, expected {}", part, data.name,
                  found, expected));
}

void check_shape(const data::Dataset& data, const char* part) {
  if (!data.texts.empty()) refuse(data, part, "texts", "images of 3 x 32 x 32");
  if (data.sparse) refuse(data, part, "sparse rows", "dense rows of 3 x 32 x 32 = 3072 values");
  if (data.features != kImageValues && data.features != kImageValues + 1) {
    refuse(data, part, fmt::format("rows of {} values", data.features),
           "3 x 32 x 32 = 3072, or 3073 with a bias column");
  }
  if (data.rows == 0) refuse(data, part, "none", "at least one");
  if (data.labels.size() != data.rows || data.dense.size() != data.rows * data.features) {
    refuse(data, part,
           fmt::format("{} values and {} labels", data.dense.size(), data.labels.size()),
           fmt::format("{} and {}", data.rows * data.features, data.rows));
  }
}

void check_labels(const data::Dataset& data, const char* part, std::size_t classes) {
  for (std::size_t row = 0; row < data.rows; ++row) {
    if (data.labels[row] >= classes) {
      refuse(data, part, fmt::format("label {} of row {}", data.labels[row], row),
             fmt::format("labels below {}, the number of classes", classes));
    }
  }
}

Sums sums_of(const float* values) {
  Sums sums;
  for (std::size_t i = 0; i < kPlane; ++i) {
    const float value = values[i];
    if (!(value >= 0 && value <= 1)) sums.in_range = false;
    sums.values += static_cast<double>(value);
    sums.squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return sums;
}

[[noreturn]] void refuse_values(const data::Dataset& data, const char* part, std::size_t row) {
  const float* values = data.dense.data() + row * data.features;
  for (std::size_t i = 0; i < kImageValues; ++i) {
    if (values[i] >= 0 && values[i] <= 1) continue;
    refuse(data, part, fmt::format("{} in row {}, column {}", values[i], row, i),
           "values from 0 to 1");
  }
  throw std::logic_error("refuse_values: the row is fine");
}

/// Checks every value. The sums of a row are taken by themselves, so that totals do not depend on
/// the number of threads.
std::vector<std::array<Sums, kImageChannels>> check_values(const data::Dataset& data,
                                                           const char* part) {
  std::vector<std::array<Sums, kImageChannels>> sums(data.rows);
  at::parallel_for(0, static_cast<std::int64_t>(data.rows), 64,
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t row = first; row < last; ++row) {
                       const auto r = static_cast<std::size_t>(row);
                       const float* values = data.dense.data() + r * data.features;
                       for (std::size_t c = 0; c < kImageChannels; ++c) {
                         sums[r][c] = sums_of(values + c * kPlane);
                       }
                     }
                   });
  for (std::size_t row = 0; row < data.rows; ++row) {
    for (const Sums& channel : sums[row]) {
      if (!channel.in_range) refuse_values(data, part, row);
    }
    if (data.features == kImageValues) continue;
    const float bias = data.dense[row * data.features + kImageValues];
    if (bias != 1) {
      refuse(data, part, fmt::format("{} in the last of 3073 columns, row {}", bias, row),
             "ones there: a bias column");
    }
  }
  return sums;
}

}  // namespace

Normalisation check_images(const data::Task& task) {
  check_shape(task.train, "training");
  check_labels(task.train, "training", task.train.classes);
  if (task.validation) {
    check_shape(*task.validation, "validation");
    check_labels(*task.validation, "validation", task.train.classes);
    check_values(*task.validation, "validation");
  }
  const auto sums = check_values(task.train, "training");
  const double count = static_cast<double>(task.train.rows) * static_cast<double>(kPlane);
  Normalisation normalisation;
  for (std::size_t c = 0; c < kImageChannels; ++c) {
    Sums total;
    for (const auto& row : sums) {
      total.values += row[c].values;
      total.squares += row[c].squares;
    }
    const double mean = total.values / count;
    const double variance = total.squares / count - mean * mean;
    normalisation.mean[c] = mean;
    // Below this it is the rounding of the difference.
    normalisation.deviation[c] = variance > 1e-12 ? std::sqrt(variance) : 1.0;
  }
  return normalisation;
}

View random_view(std::uint64_t seed, std::uint64_t batch, std::size_t index) {
  Random random(seed, kViewStream | (batch << kIndexBits) | index);
  View view;
  view.down = static_cast<std::uint32_t>(random.below(2 * kMostShift + 1));
  view.right = static_cast<std::uint32_t>(random.below(2 * kMostShift + 1));
  view.flipped = random.below(2) == 1;
  return view;
}

at::Tensor image_tensor(const data::Dataset& data, const Normalisation& normalisation,
                        std::span<const std::uint32_t> rows, std::span<const View> views) {
  at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(rows.size()), kImageChannels, kImageSide, kImageSide},
                at::kFloat, at::MemoryFormat::ChannelsLast);
  float* const images = tensor.data_ptr<float>();
  std::array<float, kImageChannels> mean{};
  std::array<float, kImageChannels> factor{};
  for (std::size_t c = 0; c < kImageChannels; ++c) {
    mean[c] = static_cast<float>(normalisation.mean[c]);
    factor[c] = static_cast<float>(1 / normalisation.deviation[c]);
  }
  constexpr View kAsItIs{.down = kMostShift, .right = kMostShift, .flipped = false};
  const auto fill = [&](std::size_t n) {
    const View view = views.empty() ? kAsItIs : views[n];
    const float* values = data.dense.data() + rows[n] * data.features;
    float* out = images + n * kImageValues;
    for (std::size_t y = 0; y < kImageSide; ++y) {
      // Beyond the image these wrap around to large numbers.
      const std::size_t from_y = y + view.down - kMostShift;
      for (std::size_t x = 0; x < kImageSide; ++x) {
        const std::size_t cut_x = view.flipped ? kImageSide - 1 - x : x;
        const std::size_t from_x = cut_x + view.right - kMostShift;
        const bool inside = from_y < kImageSide && from_x < kImageSide;
        for (std::size_t c = 0; c < kImageChannels; ++c) {
          *out++ = inside
                       ? (values[c * kPlane + from_y * kImageSide + from_x] - mean[c]) * factor[c]
                       : 0.0F;
        }
      }
    }
  };
  at::parallel_for(0, static_cast<std::int64_t>(rows.size()), 8,
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t n = first; n < last; ++n) fill(static_cast<std::size_t>(n));
                   });
  return tensor;
}

at::Tensor label_tensor(const data::Dataset& data, std::span<const std::uint32_t> rows) {
  at::Tensor labels = at::empty({static_cast<std::int64_t>(rows.size())}, at::kLong);
  auto* out = labels.data_ptr<std::int64_t>();
  for (const std::uint32_t row : rows) *out++ = data.labels[row];
  return labels;
}

}  // namespace tandem::deep
