// SPDX-License-Identifier: MIT
// The losses of problems that classify.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace tandem::problems {

/// Of a sample with logits z and label y.
enum class Loss {
  cross_entropy,   // -log softmax(z)_y
  double_softmax,  // -log softmax(softmax(z))_y: what cross entropy gives where a model ends in a
                   // softmax of its own. Not convex, and never below loss_floor().
};

/// "cross-entropy" and "double-softmax", the default first.
const std::vector<std::string>& loss_names();
/// Throws std::invalid_argument for a name that is none of these.
Loss parse_loss(const std::string& name);
const std::string& loss_name(Loss loss);

/// No model has less: 0, or log(1 + (classes - 1) / e).
double loss_floor(Loss loss, std::size_t classes);

/// What a description of a problem adds for a loss other than cross entropy.
std::string loss_note(Loss loss, std::size_t classes);

/// As softmax_gradient and softmax_loss of the kernels.
struct LossKernels {
  double (*gradient)(float* logits, std::size_t row, std::size_t classes,
                     const std::uint32_t* labels, std::size_t samples, float scale);
  kernels::SoftmaxLoss (*sum)(const float* logits, std::size_t row, std::size_t classes,
                              const std::uint32_t* labels, std::size_t samples);
};
LossKernels loss_kernels(Loss loss);

}  // namespace tandem::problems
