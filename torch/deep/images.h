// SPDX-License-Identifier: MIT
// Images of 3 x 32 x 32 from the rows of a data set: what is checked, how they are normalised, and
// the random crops and flips of training.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace tandem::deep {

inline constexpr std::size_t kImageSide = 32;
inline constexpr std::size_t kImageChannels = 3;
inline constexpr std::size_t kImageValues = kImageChannels * kImageSide * kImageSide;

/// Normalised value = (value - mean) / deviation, by channel.
struct Normalisation {
  std::array<double, kImageChannels> mean{};
  std::array<double, kImageChannels> deviation{};
};

/// Throws std::invalid_argument unless both parts are rows of 3072 values from 0 to 1, one plane of
/// 32 x 32 after another, with or without a last column of ones. The mean and the deviation are
/// those of the training images; a channel in which nothing varies has deviation 1.
Normalisation check_images(const data::Task& task);

/// How an image is seen in training: padded by kMostShift zeros on every side, cut to its size from
/// row `down` and column `right`, then perhaps flipped left to right.
struct View {
  std::uint32_t down = 0;
  std::uint32_t right = 0;
  bool flipped = false;
};
inline constexpr std::size_t kMostShift = 4;

/// Of the image at `index` of a session's training batch `batch`: a function of these alone.
View random_view(std::uint64_t seed, std::uint64_t batch, std::size_t index);

/// Normalised images of these rows, as a tensor of count x 3 x 32 x 32, channels-last. Without
/// views they are seen as they are; else there is one for each row.
at::Tensor image_tensor(const data::Dataset& data, const Normalisation& normalisation,
                        std::span<const std::uint32_t> rows, std::span<const View> views);
/// Their labels.
at::Tensor label_tensor(const data::Dataset& data, std::span<const std::uint32_t> rows);

}  // namespace tandem::deep
