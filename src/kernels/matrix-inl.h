// SPDX-License-Identifier: MIT
// Full-TO's and Block-TO's matrix: products, delayed updates, rows that learn. Included once for
// each instruction set.
#include "kernels/kernels.h"

#if defined(TANDEM_KERNELS_MATRIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_MATRIX_INL_H_
#undef TANDEM_KERNELS_MATRIX_INL_H_
#else
#define TANDEM_KERNELS_MATRIX_INL_H_
#endif

#include <algorithm>

#include "kernels/common-inl.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// Four rows at a time share the loads of w; two chains a row hide the latency.
template <class T>
HWY_INLINE void dot_four_rows(const T* const row[4], const T* w, std::size_t count, double sum[4]) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  Vec<T> a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, e0 = a0, e1 = a0;
  std::size_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) {
    const Vec<T> w0 = hn::LoadU(d, w + j), w1 = hn::LoadU(d, w + j + lanes);
    a0 = hn::MulAdd(hn::LoadU(d, row[0] + j), w0, a0);
    b0 = hn::MulAdd(hn::LoadU(d, row[1] + j), w0, b0);
    c0 = hn::MulAdd(hn::LoadU(d, row[2] + j), w0, c0);
    e0 = hn::MulAdd(hn::LoadU(d, row[3] + j), w0, e0);
    a1 = hn::MulAdd(hn::LoadU(d, row[0] + j + lanes), w1, a1);
    b1 = hn::MulAdd(hn::LoadU(d, row[1] + j + lanes), w1, b1);
    c1 = hn::MulAdd(hn::LoadU(d, row[2] + j + lanes), w1, c1);
    e1 = hn::MulAdd(hn::LoadU(d, row[3] + j + lanes), w1, e1);
  }
  for_vectors<T>(count - j, [&](std::size_t i, auto&& load, auto&&) HWY_ATTR {
    const Vec<T> w0 = load(w + j + i);
    a0 = hn::MulAdd(load(row[0] + j + i), w0, a0);
    b0 = hn::MulAdd(load(row[1] + j + i), w0, b0);
    c0 = hn::MulAdd(load(row[2] + j + i), w0, c0);
    e0 = hn::MulAdd(load(row[3] + j + i), w0, e0);
  });
  sum[0] += sum_lanes<T>(hn::Add(a0, a1));
  sum[1] += sum_lanes<T>(hn::Add(b0, b1));
  sum[2] += sum_lanes<T>(hn::Add(c0, c1));
  sum[3] += sum_lanes<T>(hn::Add(e0, e1));
}

template <class T>
void matrix_vector(const T* matrix, std::size_t stride, const T* w, std::size_t rows,
                   std::size_t columns, T* out) {
  for (std::size_t i = 0; i < rows; i += 4) {
    // A last group of fewer than four repeats its last row, so that a row's result never depends on
    // its place.
    const std::size_t last = rows - 1;
    double sum[4] = {0, 0, 0, 0};
    for (std::size_t j = 0; j < columns; j += kBlock) {
      const T* const row[4] = {matrix + i * stride + j, matrix + std::min(i + 1, last) * stride + j,
                               matrix + std::min(i + 2, last) * stride + j,
                               matrix + std::min(i + 3, last) * stride + j};
      dot_four_rows<T>(row, w + j, std::min(kBlock, columns - j), sum);
    }
    for (std::size_t k = 0; k < std::min<std::size_t>(4, rows - i); ++k) {
      out[i + k] = static_cast<T>(sum[k]);
    }
  }
}

/// A tile of kRows rows and two vectors of columns stays in registers while all `rank` updates are
/// added to it.
template <class T, int kRows>
HWY_INLINE void update_tile(T* matrix, std::size_t stride, const T* packed_u, const T* packed_v,
                            std::size_t rank) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  Vec<T> left[kRows], right[kRows];
  for (int i = 0; i < kRows; ++i) {
    left[i] = hn::LoadU(d, matrix + i * stride);
    right[i] = hn::LoadU(d, matrix + i * stride + lanes);
  }
  for (std::size_t k = 0; k < rank; ++k) {
    const Vec<T> v0 = hn::LoadU(d, packed_v + k * 2 * lanes);
    const Vec<T> v1 = hn::LoadU(d, packed_v + k * 2 * lanes + lanes);
    for (int i = 0; i < kRows; ++i) {
      const Vec<T> u = hn::Set(d, packed_u[k * 4 + static_cast<std::size_t>(i)]);
      left[i] = hn::MulAdd(u, v0, left[i]);
      right[i] = hn::MulAdd(u, v1, right[i]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(left[i], d, matrix + i * stride);
    hn::StoreU(right[i], d, matrix + i * stride + lanes);
  }
}

template <class T>
void rank_update(T* matrix, std::size_t stride, std::size_t rows, std::size_t columns,
                 const T* const* u, const T* const* v, std::size_t rank, T* scratch) {
  const Tag<T> d;
  const std::size_t tile = 2 * hn::Lanes(d);
  // Columns are taken in panels whose part of v, packed tile by tile, stays in the second-level
  // cache.
  const std::size_t panel = 512 / tile * tile;
  T* packed_v = scratch;                 // rank * panel
  T* packed_u = scratch + rank * panel;  // rank * 4, of the 16 that are there
  for (std::size_t j0 = 0; j0 < columns; j0 += panel) {
    const std::size_t width = std::min(panel, columns - j0);
    for (std::size_t j = 0; j < width; j += tile) {
      for (std::size_t k = 0; k < rank; ++k) {
        T* to = packed_v + j * rank + k * tile;
        const std::size_t part = std::min(tile, width - j);
        std::copy_n(v[k] + j0 + j, part, to);
        std::fill(to + part, to + tile, T{0});
      }
    }
    for (std::size_t i = 0; i < rows; i += 4) {
      const std::size_t height = std::min<std::size_t>(4, rows - i);
      for (std::size_t k = 0; k < rank; ++k) {
        for (std::size_t q = 0; q < 4; ++q) packed_u[k * 4 + q] = q < height ? u[k][i + q] : T{0};
      }
      for (std::size_t j = 0; j < width; j += tile) {
        T* corner = matrix + i * stride + j0 + j;
        const std::size_t part = std::min(tile, width - j);
        if (height == 4 && part == tile) {
          update_tile<T, 4>(corner, stride, packed_u, packed_v + j * rank, rank);
        } else {
          // The edge: the same tile on a copy.
          HWY_ALIGN T copy[4 * 2 * hn::MaxLanes(Tag<T>())] = {};
          for (std::size_t q = 0; q < height; ++q) {
            std::copy_n(corner + q * stride, part, copy + q * tile);
          }
          update_tile<T, 4>(copy, tile, packed_u, packed_v + j * rank, rank);
          for (std::size_t q = 0; q < height; ++q) {
            std::copy_n(copy + q * tile, part, corner + q * stride);
          }
        }
      }
    }
  }
}

template <class T>
void learn_rows(T* matrix, std::size_t stride, const T* w, const T* g, T* b, T* estimate,
                std::size_t rows, std::size_t columns, const BlockRates<T>& rates, PassSums* sums) {
  for (std::size_t i = 0; i < rows; ++i) {
    T* row = matrix + i * stride;
    const T p = static_cast<T>(dot<T>(row, w, columns)) + b[i];
    const T r = g[i] - p;
    add_scaled<T>(row, w, columns, rates.alpha * r, row);
    b[i] += rates.beta * r;
    estimate[i] = p + rates.delta * r;
    sums->residual2 += static_cast<double>(r) * static_cast<double>(r);
    sums->gradient2 += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  }
}

template <class T>
void learn_vector(T* p, const T* g, T* b, T* step, std::size_t count, const BlockRates<T>& rates,
                  PassSums* sums) {
  const Tag<T> d;
  const Vec<T> alpha = hn::Set(d, rates.alpha), beta = hn::Set(d, rates.beta),
               delta = hn::Set(d, rates.delta);
  Vec<T> residual2 = hn::Zero(d), gradient2 = hn::Zero(d);
  for_vectors<T>(count, [&](std::size_t i, auto&& load, auto&& store) HWY_ATTR {
    const Vec<T> gi = load(g + i);
    Vec<T> pi = load(p + i);
    if (b != nullptr) pi = hn::Add(pi, load(b + i));
    const Vec<T> r = hn::Sub(gi, pi);
    if (b != nullptr) store(hn::MulAdd(beta, r, load(b + i)), b + i);
    store(hn::Mul(alpha, r), step + i);
    store(hn::MulAdd(delta, r, pi), p + i);
    residual2 = hn::MulAdd(r, r, residual2);
    gradient2 = hn::MulAdd(gi, gi, gradient2);
  });
  sums->residual2 = sum_lanes<T>(residual2);
  sums->gradient2 = sum_lanes<T>(gradient2);
}

/// kRows rows of a history at once: out += sum c_k row_k and dots_k = row_k.x.
template <class T, std::size_t kRows, bool kCombine, bool kDots>
HWY_INLINE void history_rows(const T* const* rows, std::size_t first_column, std::size_t columns,
                             const T* c, T* out, const T* x, double* dots) {
  const Tag<T> d;
  Vec<T> sum[kRows];
  Vec<T> coefficient[kRows];
  for (std::size_t k = 0; k < kRows; ++k) {
    sum[k] = hn::Zero(d);
    coefficient[k] = kCombine ? hn::Set(d, c[k]) : hn::Zero(d);
  }
  for_vectors<T>(columns, [&](std::size_t j, auto&& load, auto&& store) HWY_ATTR {
    Vec<T> combined = kCombine ? load(out + j) : hn::Zero(d);
    const Vec<T> xj = kDots ? load(x + j) : hn::Zero(d);
    for (std::size_t k = 0; k < kRows; ++k) {
      const Vec<T> row = load(rows[k] + first_column + j);
      if constexpr (kCombine) combined = hn::MulAdd(coefficient[k], row, combined);
      if constexpr (kDots) sum[k] = hn::MulAdd(row, xj, sum[k]);
    }
    if constexpr (kCombine) store(combined, out + j);
  });
  if constexpr (kDots) {
    for (std::size_t k = 0; k < kRows; ++k) dots[k] = sum_lanes<T>(sum[k]);
  }
}

template <class T, bool kCombine, bool kDots>
void history_pass(const T* const* rows, std::size_t first_column, std::size_t row_count,
                  std::size_t columns, const T* c, T* out, const T* x, double* dots) {
  // The more rows are read at once, the better the memory is used (docs/performance.md).
  std::size_t k = 0;
  for (; k + kHistoryRows <= row_count; k += kHistoryRows) {
    history_rows<T, kHistoryRows, kCombine, kDots>(
        rows + k, first_column, columns, kCombine ? c + k : c, out, x, kDots ? dots + k : dots);
  }
  for (; k + kHistoryRows / 2 <= row_count; k += kHistoryRows / 2) {
    history_rows<T, kHistoryRows / 2, kCombine, kDots>(
        rows + k, first_column, columns, kCombine ? c + k : c, out, x, kDots ? dots + k : dots);
  }
  for (; k < row_count; ++k) {
    history_rows<T, 1, kCombine, kDots>(rows + k, first_column, columns, kCombine ? c + k : c, out,
                                        x, kDots ? dots + k : dots);
  }
}

template <class T>
void history(const T* const* rows, std::size_t first_column, std::size_t row_count,
             std::size_t columns, const T* c, T* out, const T* x, double* dots) {
  const auto pass = out == nullptr ? &history_pass<T, false, true>
                    : x == nullptr ? &history_pass<T, true, false>
                                   : &history_pass<T, true, true>;
  pass(rows, first_column, row_count, columns, c, out, x, dots);
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
