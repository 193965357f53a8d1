// SPDX-License-Identifier: MIT
// How the elements of a parameter and of its state lie in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tandem::optim::detail {

using Strides = std::vector<std::int64_t>;

/// Row-major.
Strides row_major(const at::Tensor& parameter);
/// Those of new state: the parameter's own where it has no gaps, row-major otherwise.
Strides state_strides(const at::Tensor& parameter);
/// Whether strides give each element of a tensor of this shape a place of its own, without gaps.
bool are_dense(const at::Tensor& parameter, const Strides& strides);
/// Whether elements lie in the same order by both. Strides of dimensions of size 1 do not matter.
bool same_order(at::IntArrayRef sizes, at::IntArrayRef x, at::IntArrayRef y);
/// Whether a tensor's elements lie as these strides say.
bool lies_as(const at::Tensor& tensor, const Strides& strides);
/// The tensor, or a copy of it that lies as these strides say.
at::Tensor arranged(const at::Tensor& tensor, const Strides& strides);

}  // namespace tandem::optim::detail
