// SPDX-License-Identifier: MIT
// The values of some samples that are not zero, in the two orders in which the sparse products read
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "kernels/kernels.h"

namespace tandem::problems {

/// Whether the sparse products are the faster ones for a data set: always where it is stored so,
/// else where most of its values are zeros. Both give the same bits.
bool mostly_zeros(const data::Dataset& data);

/// Its functions are safe from several threads at once.
class Nonzeros {
 public:
  /// With `bias`, each sample has one feature more, of 1, behind the others.
  Nonzeros(const data::Dataset& data, std::span<const std::uint32_t> rows, bool bias = false);

  /// out[i * row + n] = weights_i . x_n for `count` rows of weights, one after another.
  void forward(std::size_t count, const float* weights, float* out, std::size_t row) const;
  /// gradients_i = sum over n of coefficients[i * row + n] x_n.
  void backward(std::size_t count, const float* coefficients, std::size_t row,
                float* gradients) const;

  /// As sparse_product wants them.
  const kernels::SparseSamples<float>& by_sample() const { return by_sample_; }
  /// As sparse_spread wants them. The second order is made when it is first asked for.
  const kernels::SparseSamples<float>& by_place() const;

 private:
  /// Put a row's features and values at a place of the lists and return the place behind them.
  std::size_t take_sparse(const data::Dataset& data, std::uint32_t row, std::size_t at);
  std::size_t take_dense(const data::Dataset& data, std::uint32_t row, std::size_t at);
  void number_places();
  void sort_by_place() const;

  std::vector<std::uint32_t> sample_begin_, places_, blocks_;
  std::vector<float> values_;
  mutable std::once_flag sorted_;
  mutable std::vector<std::uint32_t> place_begin_, samples_of_;
  mutable std::vector<float> sample_values_;
  kernels::SparseSamples<float> by_sample_;
  mutable kernels::SparseSamples<float> by_place_;
};

}  // namespace tandem::problems
