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

#include "base/make_room.h"
#include "base/parallel.h"
#include "kernels/kernels.h"
#include "optimizers/state_array.h"

namespace tandem {

class Triangle {
 public:
  /// Row k has k elements, and one more with the diagonal.
  explicit Triangle(bool diagonal = true, StateOwner owner = StateOwner::engine)
      : diagonal_(diagonal ? 1 : 0), array_(owner) {}

  std::size_t rows() const { return rows_.size(); }
  std::span<const double> row(std::size_t k) const { return rows_[k]; }
  std::span<double> last() { return rows_.back(); }
  /// Room for so many rows, which push then takes without allocating. Memory of the caller's comes
  /// when it is bound.
  void prepare(std::size_t rows) {
    make_room(rows_, rows);
    if (array_.owner() == StateOwner::caller) return;
    while (array_.parts() < parts_for(rows)) array_.add_part(part_size(array_.parts()));
  }
  /// The same for symmetric_times.
  void prepare_products(std::size_t rows) { make_room(columns_, bands(rows) * rows); }
  /// One more row, to be filled; or one that is empty.
  std::span<double> push(bool filled = true) {
    rows_.push_back(place(rows_.size(), filled));
    return rows_.back();
  }

  /// Memory in the caller's array: as many parts as so many rows need.
  StateArray<double>& array() { return array_; }
  void set_rows_in_memory(std::size_t rows) {
    std::vector<std::size_t> sizes;
    for (std::size_t p = 0; p < parts_for(rows); ++p) sizes.push_back(part_size(p));
    array_.set_parts(std::move(sizes));
  }
  /// Rows as they lie in memory that was bound; filled(k) tells whether row k is not empty.
  template <class Filled>
  void take_rows(std::size_t rows, const Filled& filled) {
    rows_.clear();
    for (std::size_t k = 0; k < rows; ++k) rows_.push_back(place(k, filled(k)));
  }

  std::size_t bytes() const { return array_.bytes() + rows_.capacity() * sizeof(rows_[0]); }
  std::size_t workspace_bytes() const { return columns_.capacity() * sizeof(double); }

  /// out[k] = row_k.x; x may be longer than a row.
  void rows_times(Executor& executor, std::span<const double> x, std::span<double> out) const {
    over_bands(executor, [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; k += kGroup) {
        group_times(k, std::min(k + kGroup, last), x, nullptr, out);
      }
    });
  }

  /// out = M x, where this is the lower half of the symmetric M with its diagonal. One read: a row
  /// gives its own element, and while it is in the cache what it is, as a column, to those before.
  void symmetric_times(Executor& executor, std::span<const double> x, std::span<double> out) {
    const std::size_t count = rows();
    columns_.resize(bands() * count);
    over_bands(executor, [&](std::size_t band, std::size_t first, std::size_t last) {
      double* column = columns_.data() + band * count;
      std::fill_n(column, last, 0.0);
      for (std::size_t k = first; k < last; k += kGroup) {
        group_times(k, std::min(k + kGroup, last), x, column, out);
      }
    });
    for (std::size_t band = 0; band < bands(); ++band) {
      const double* column = columns_.data() + band * count;
      kernels::kernels<double>().add_scaled(out.data(), column, band_end(band), 1.0, out.data());
    }
  }

 private:
  static constexpr std::size_t kGroup = kernels::kHistoryRows;
  static constexpr std::size_t kRowsPerPart = 16;

  static std::size_t parts_for(std::size_t rows) {
    return (rows + kRowsPerPart - 1) / kRowsPerPart;
  }
  std::size_t length(std::size_t k) const { return k + diagonal_; }
  /// Elements of the rows before row k in its part; of row kRowsPerPart: of the whole part.
  std::size_t before(std::size_t part, std::size_t row) const {
    return row * length(part * kRowsPerPart) + (row == 0 ? 0 : row * (row - 1) / 2);
  }
  std::size_t part_size(std::size_t part) const { return before(part, kRowsPerPart); }
  std::span<double> place(std::size_t k, bool filled) {
    if (!filled) return {};
    const std::size_t part = k / kRowsPerPart;
    return {array_.part(part) + before(part, k % kRowsPerPart), length(k)};
  }

  /// A few rows at once, first to last: out[k] = row_k.x, and where `column` is given also
  /// column[j] += x[k] row_k[j] for all j before k. Rows are empty, or no shorter than those before.
  void group_times(std::size_t first, std::size_t last, std::span<const double> x, double* column,
                   std::span<double> out) const {
    const double* rows[kGroup];
    double factors[kGroup];
    std::size_t which[kGroup];
    std::size_t filled = 0;
    for (std::size_t k = first; k < last; ++k) {
      out[k] = 0;
      if (rows_[k].empty()) continue;
      rows[filled] = rows_[k].data();
      factors[filled] = x[k];
      which[filled++] = k;
    }
    if (filled == 0) return;
    // What all have, in ranges as the kernel wants them, then what the longer ones have beyond.
    const std::size_t shared = std::min(rows_[which[0]].size(), which[0]);
    for (std::size_t begin = 0; begin < shared; begin += kernels::kBlock) {
      double dots[kGroup];
      kernels::kernels<double>().history(
          rows, begin, filled, std::min(kernels::kBlock, shared - begin), factors,
          column == nullptr ? nullptr : column + begin, x.data() + begin, dots);
      for (std::size_t i = 0; i < filled; ++i) out[which[i]] += dots[i];
    }
    for (std::size_t i = 0; i < filled; ++i) {
      const std::size_t k = which[i];
      for (std::size_t j = shared; j < rows_[k].size(); ++j) {
        out[k] += rows[i][j] * x[j];
        if (column != nullptr && j < k) column[j] += x[k] * rows[i][j];
      }
    }
  }

  /// Bands of rows of about the same area. They depend on the number of rows alone, so that sums do
  /// not depend on the number of threads.
  static std::size_t bands(std::size_t rows) {
    return std::clamp<std::size_t>(rows * rows / (std::size_t{1} << 17), 1, 16);
  }
  std::size_t bands() const { return bands(rows()); }
  std::size_t band_end(std::size_t band) const {
    if (band + 1 == bands()) return rows();
    const double part = static_cast<double>(band + 1) / static_cast<double>(bands());
    return static_cast<std::size_t>(static_cast<double>(rows()) * std::sqrt(part)) / kGroup *
           kGroup;
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

  std::size_t diagonal_;
  StateArray<double> array_;
  std::vector<std::span<double>> rows_;
  std::vector<double> columns_;  // of each band, what its rows give to elements before them
};

}  // namespace tandem
