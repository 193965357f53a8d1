// SPDX-License-Identifier: MIT
// Facts about a data set that tell whether it is the one that was meant.
#pragma once

#include <cstddef>
#include <vector>

#include "data/dataset.h"

namespace tandem::data {

/// Characters (of UTF-8) of some texts.
struct Lengths {
  std::size_t minimum = 0;
  std::size_t median = 0;  // of an even number of texts the upper of the two in the middle
  std::size_t maximum = 0;
};

struct Description {
  std::vector<std::size_t> class_counts;
  // Over all elements, zeros of sparse rows too, the bias column not distinguished.
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  double deviation = 0;
  double nonzero = 0;  // the fraction of elements
  std::size_t constant_features = 0;
  // Of texts, which have nothing of the above.
  Lengths prompts;
  Lengths responses;
};

Description describe(const Dataset& data);

}  // namespace tandem::data
