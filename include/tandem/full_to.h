// SPDX-License-Identifier: MIT
// Full-TO, which can tell how it keeps its matrix.
#pragma once

#include <tandem/optimizer.h>
#include <tandem/options.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tandem {

/// Full-TO, Algorithm 1 of "A Trainable Optimizer" (Wang and Klabjan):
///
///   r = g - A w - b;  A += alpha r w^T;  b += beta r;  w -= lr (A w + b)
class FullTO : public Optimizer {
 public:
  explicit FullTO(std::size_t dimension, const FullTOOptions& options = {});
  explicit FullTO(const std::vector<SegmentSpec>& segments, const FullTOOptions& options = {});

  /// The form in use, and why: "dense: initial_A is given".
  Form form() const;
  std::string form_reason() const;
};

}  // namespace tandem
