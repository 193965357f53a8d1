// SPDX-License-Identifier: MIT
#include "strides.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tandem::optim::detail {

Strides row_major(const at::Tensor& parameter) {
  Strides strides(static_cast<std::size_t>(parameter.dim()));
  std::int64_t next = 1;
  for (std::size_t d = strides.size(); d-- > 0;) {
    strides[d] = next;
    next *= parameter.size(static_cast<std::int64_t>(d));
  }
  return strides;
}

Strides state_strides(const at::Tensor& parameter) {
  return parameter.is_non_overlapping_and_dense() ? parameter.strides().vec()
                                                  : row_major(parameter);
}

bool are_dense(const at::Tensor& parameter, const Strides& strides) {
  if (static_cast<std::int64_t>(strides.size()) != parameter.dim()) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> by_stride;  // and size
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const std::int64_t size = parameter.size(static_cast<std::int64_t>(d));
    if (size > 1) by_stride.emplace_back(strides[d], size);
  }
  std::sort(by_stride.begin(), by_stride.end());
  std::int64_t next = 1;
  for (const auto& [stride, size] : by_stride) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

bool same_order(at::IntArrayRef sizes, at::IntArrayRef x, at::IntArrayRef y) {
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (x[d] != y[d] && sizes[d] > 1) return false;
  }
  return true;
}

bool lies_as(const at::Tensor& tensor, const Strides& strides) {
  return same_order(tensor.sizes(), tensor.strides(), strides);
}

at::Tensor arranged(const at::Tensor& tensor, const Strides& strides) {
  if (lies_as(tensor, strides) && !tensor.is_neg()) return tensor;
  at::Tensor copy = at::empty_strided(tensor.sizes(), strides, tensor.options());
  copy.copy_(tensor);
  return copy;
}

}  // namespace tandem::optim::detail
