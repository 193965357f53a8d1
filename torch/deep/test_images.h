// SPDX-License-Identifier: MIT
// For tests: small data sets of images such as CIFAR's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "data/dataset.h"
#include "deep/images.h"

namespace tandem::deep::testing {

/// Random images, each brighter in the rows of its class, with a bias column where wanted.
inline data::Dataset make_images(std::size_t rows, std::size_t classes, std::uint64_t seed,
                                 bool bias = false) {
  data::Dataset data;
  data.name = "test images";
  data.rows = rows;
  data.features = kImageValues + (bias ? 1 : 0);
  data.classes = classes;
  data.dense = Buffer<float>(rows * data.features);
  Random random(seed, 7);
  for (std::size_t row = 0; row < rows; ++row) {
    data.labels.push_back(static_cast<std::uint32_t>(row % classes));
    float* values = data.dense.data() + row * data.features;
    for (std::size_t i = 0; i < kImageValues; ++i) {
      const std::size_t y = i / kImageSide % kImageSide;
      const double light = y * classes / kImageSide == data.labels.back() ? 0.6 : 0.1;
      values[i] = static_cast<float>(light + 0.3 * random.uniform());
    }
    if (bias) values[kImageValues] = 1;
  }
  return data;
}

/// Training images, and half as many of validation.
inline std::shared_ptr<data::Task> make_task(std::size_t rows, std::size_t classes = 10,
                                             bool bias = false) {
  auto task = std::make_shared<data::Task>();
  task->train = make_images(rows, classes, 1, bias);
  task->validation = make_images((rows + 1) / 2, classes, 2, bias);
  return task;
}

/// 0 to count - 1.
inline std::vector<std::uint32_t> first_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<std::uint32_t>(i);
  return rows;
}

}  // namespace tandem::deep::testing
