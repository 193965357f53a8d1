// SPDX-License-Identifier: MIT
// A ResNet that learns a data set's images, as a problem of the laboratory.
#pragma once

#include <tandem/problem.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "plugin/plugin.h"

namespace tandem::deep {

/// plugin::DeepModels::resnet. Training normalises by the batch. What is measured is normalised by
/// statistics of the weights that are measured: averages over statistics_batches() of mean and
/// variance, taken by Session::before_measuring. Losses asked without it, or after another
/// gradient, are a std::logic_error.
std::unique_ptr<Problem> make_resnet(const plugin::ResNetShape& shape,
                                     std::shared_ptr<const data::Task> task, double lambda);

/// At most so many training images give the statistics.
inline constexpr std::size_t kStatisticsImages = 1024;

/// The rows that give the statistics of normalisation: all, or kStatisticsImages at equal distances
/// over the whole set, dealt out to batches of at most 128 in turn, so that each sees all of the
/// set.
std::vector<std::vector<std::uint32_t>> statistics_batches(std::size_t rows);

}  // namespace tandem::deep
