// SPDX-License-Identifier: MIT
// Symmetric and lower-triangular matrices in double that grow by a row at a time: the bookkeeping
// of Full-TO's span form.
#pragma once

#include <tandem/executor.h>

#include <algorithm>
#include <cmath>
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
  std::size_t workspace_bytes() const { return columns_.capacity() * sizeof(double); }

  /// out[k] = row_k.x; x may be longer than a row.
  void rows_times(Executor& executor, std::span<const double> x, std::span<double> out) const {
    const auto& kernels = kernels::kernels<double>();
    over_bands(executor, [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        out[k] = kernels.dot(rows_[k].data(), x.data(), rows_[k].size());
      }
    });
  }

  /// out = M x, where this is the lower half of the symmetric M with its diagonal. One read: a row
  /// gives its own element, and while it is in the cache what it is, as a column, to those before.
  void symmetric_times(Executor& executor, std::span<const double> x, std::span<double> out) {
    const auto& kernels = kernels::kernels<double>();
    const std::size_t count = rows();
    columns_.resize(bands() * count);
    over_bands(executor, [&](std::size_t band, std::size_t first, std::size_t last) {
      double* column = columns_.data() + band * count;
      std::fill_n(column, last, 0.0);
      for (std::size_t k = first; k < last; ++k) {
        const double* row = rows_[k].data();
        out[k] = kernels.dot(row, x.data(), k + 1);
        kernels.add_scaled(column, row, k, x[k], column);
      }
    });
    for (std::size_t band = 0; band < bands(); ++band) {
      const double* column = columns_.data() + band * count;
      kernels.add_scaled(out.data(), column, band_end(band), 1.0, out.data());
    }
  }

 private:
  /// Bands of rows of about the same area. They depend on the number of rows alone, so that sums do
  /// not depend on the number of threads.
  std::size_t bands() const {
    return std::clamp<std::size_t>(rows() * rows() / (std::size_t{1} << 17), 1, 16);
  }
  std::size_t band_end(std::size_t band) const {
    const double part = static_cast<double>(band + 1) / static_cast<double>(bands());
    return static_cast<std::size_t>(static_cast<double>(rows()) * std::sqrt(part));
  }
  /// Calls body(band, first row, last row) for each band.
  template <class Body>
  void over_bands(Executor& executor, const Body& body) const {
    parallel_ranges(executor, bands(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t band = begin; band < end; ++band) {
        body(band, band == 0 ? 0 : band_end(band - 1), band_end(band));
      }
    });
  }

  std::vector<std::vector<double>> rows_;
  std::vector<double> columns_;  // of each band, what its rows give to elements before them
  std::size_t bytes_ = 0;
};

}  // namespace tandem
