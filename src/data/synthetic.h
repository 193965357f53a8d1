// SPDX-License-Identifier: MIT
// Data made from a known model: inputs with a chosen condition number, the class whose weights have
// the largest product with them, and a fraction of wrong labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace tandem::data {

/// Row x of the dense kind is H S z with z standard normal, S diagonal with the squares of its
/// elements from 1 down to 1/condition in equal ratios, and H a reflection that turns the axes
/// (identity if `rotate` is false). Of the sparse kind each row has round(sparse * features)
/// elements, at least 1, at random columns, and is S z there. The label is the argmax of W x, and
/// with probability `noise` one of the other classes instead. More rows of the same seed begin with
/// the same rows.
struct SyntheticSpec {
  std::size_t rows = 1000;
  std::size_t features = 20;
  std::size_t classes = 2;
  double condition = 1;
  double noise = 0;
  double sparse = 0;  // the fraction of elements that are not zero; 0: dense
  bool rotate = true;
  bool bias = false;  // a column of ones, last, which the labels do not depend on
  std::uint64_t seed = 1;
};

/// Throws std::invalid_argument for values that make no sense.
Dataset make_synthetic(const SyntheticSpec& spec);

/// W: classes x features (without the bias), row-major, standard normal over the deviation of W x.
std::vector<double> synthetic_weights(const SyntheticSpec& spec);

}  // namespace tandem::data
