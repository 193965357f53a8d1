// SPDX-License-Identifier: MIT
// Symmetric and lower-triangular matrices in double that grow by a row at a time: the bookkeeping
// of Full-TO's span form.
#pragma once

#include <tandem/executor.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "kernels/kernels.h"

namespace tandem {

class Triangle {
 public:
  std::size_t rows() const { return rows_.size(); }
  std::span<const double> row(std::size_t k) const { return rows_[k]; }
  void push(std::vector<double> row) {
    bytes_ += row.capacity() * sizeof(double);
    rows_.push_back(std::move(row));
  }
  std::size_t bytes() const { return bytes_ + rows_.capacity() * sizeof(rows_[0]); }

  /// out[k] = row_k.x; x may be longer than a row.
  void rows_times(Executor& executor, std::span<const double> x, std::span<double> out) const {
    const auto& kernels = kernels::kernels<double>();
    parallel_ranges(executor, rows(), grain(), [&](std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        out[k] = kernels.dot(rows_[k].data(), x.data(), rows_[k].size());
      }
    });
  }

  /// out = M x, where this is the lower half of the symmetric M with its diagonal. A task owns a
  /// range of `out`, whose elements are summed in the same order whatever the ranges are.
  void symmetric_times(Executor& executor, std::span<const double> x, std::span<double> out) const {
    rows_times(executor, x, out);
    const auto& kernels = kernels::kernels<double>();
    parallel_ranges(executor, rows(), grain(), [&](std::size_t first, std::size_t last) {
      for (std::size_t k = first + 1; k < rows(); ++k) {
        const std::size_t count = std::min(last, k) - first;
        double* part = out.data() + first;
        kernels.add_scaled(part, rows_[k].data() + first, count, x[k], part);
      }
    });
  }

 private:
  std::size_t grain() const { return (std::size_t{1} << 17) / (rows() + 1) + 1; }

  std::vector<std::vector<double>> rows_;
  std::size_t bytes_ = 0;
};

}  // namespace tandem
