// SPDX-License-Identifier: MIT
#include "problems/loss.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "base/suggest.h"

namespace tandem::problems {

const std::vector<std::string>& loss_names() {
  static const std::vector<std::string> kNames{"cross-entropy", "double-softmax"};
  return kNames;
}

Loss parse_loss(const std::string& name) {
  if (name == loss_names()[0]) return Loss::cross_entropy;
  if (name == loss_names()[1]) return Loss::double_softmax;
  throw std::invalid_argument(
      fmt::format("Unknown loss '{}'{}", name, suggestion(name, loss_names())));
}

const std::string& loss_name(Loss loss) {
  return loss_names()[loss == Loss::cross_entropy ? 0 : 1];
}

double loss_floor(Loss loss, std::size_t classes) {
  if (loss == Loss::cross_entropy || classes == 0) return 0;
  return std::log1p(static_cast<double>(classes - 1) / std::numbers::e);
}

std::string loss_note(Loss loss, std::size_t classes) {
  if (loss == Loss::cross_entropy) return {};
  return fmt::format(", softmax twice (no loss is below {:.4f})", loss_floor(loss, classes));
}

LossKernels loss_kernels(Loss loss) {
  const auto& simd = kernels::kernels<float>();
  if (loss == Loss::cross_entropy) return {simd.softmax_gradient, simd.softmax_loss};
  return {simd.double_softmax_gradient, simd.double_softmax_loss};
}

}  // namespace tandem::problems
