// SPDX-License-Identifier: MIT
// Full-TO's matrix where it is kept in bfloat16: half the bytes of float in a step, which reads it
// once. Vectors and factors are float, and so is the arithmetic.
#pragma once

#include <tandem/bfloat16.h>

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

/// How a matrix is rounded when updates are added to it.
struct MatrixRounding {
  bool stochastic = true;
  /// Noise is a function of the key, the row and the column, of nothing else.
  std::uint64_t key = 0;
  std::uint64_t first_row = 0;  // the number of the first row that a call is given
};

/// Kernels::matrix_vector on such a matrix: the bits that it gives for the same values in float.
void matrix_vector(const BFloat16* matrix, std::size_t stride, const float* w, std::size_t rows,
                   std::size_t columns, float* out);
/// Kernels::rank_update: all updates are added in float, and the result is rounded once. Bits do not
/// depend on how rows are cut. `scratch` holds rank_update_scratch(rank) values.
void rank_update(BFloat16* matrix, std::size_t stride, std::size_t rows, std::size_t columns,
                 const float* const* u, const float* const* v, std::size_t rank,
                 const MatrixRounding& rounding, float* scratch);

}  // namespace tandem::kernels
