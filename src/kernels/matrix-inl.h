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

#include <hwy/cache_control.h>

#include "kernels/common-inl.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// How a matrix is kept in memory: as it is.
template <class T>
struct PlainMatrix {
  using Element = T;
  static constexpr bool kPrefetch = false;  // two lines of each row at a time come fast enough
  HWY_INLINE Vec<T> load(const T* from) const { return hn::LoadU(Tag<T>(), from); }
  HWY_INLINE Vec<T> load_first(const T* from, std::size_t count) const {
    return load_part<T>(from, count);
  }
  /// The place in the matrix is for those who round.
  HWY_INLINE void store(Vec<T> v, T* to, std::size_t /*row*/, std::size_t /*column*/) const {
    hn::StoreU(v, Tag<T>(), to);
  }
};

/// Memory of a matrix is asked for so many bytes ahead of its use. Processors follow a stream within
/// a page of 4 KiB by themselves, but not into the next one.
constexpr std::size_t kAheadBytes = 2048;
constexpr std::size_t kLineBytes = 64;

template <class Element>
HWY_INLINE void prefetch_ahead(const Element* at, std::size_t elements) {
  const auto* bytes = reinterpret_cast<const char*>(at) + kAheadBytes;
  for (std::size_t i = 0; i < elements * sizeof(Element); i += kLineBytes) {
    hwy::Prefetch(bytes + i);
  }
}

/// Four rows at a time share the loads of w; two chains a row hide the latency.
constexpr std::size_t kRowsTogether = 4;

template <class T, class Matrix>
HWY_INLINE void dot_rows(const Matrix& as, const typename Matrix::Element* const* row, const T* w,
                         std::size_t count, double* sum) {
  constexpr std::size_t kRows = kRowsTogether;
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  Vec<T> even[kRows], odd[kRows];
  for (std::size_t k = 0; k < kRows; ++k) even[k] = odd[k] = hn::Zero(d);
  std::size_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) {
    const Vec<T> w0 = hn::LoadU(d, w + j), w1 = hn::LoadU(d, w + j + lanes);
    for (std::size_t k = 0; k < kRows; ++k) {
      if constexpr (Matrix::kPrefetch) prefetch_ahead(row[k] + j, 2 * lanes);
      even[k] = hn::MulAdd(as.load(row[k] + j), w0, even[k]);
      odd[k] = hn::MulAdd(as.load(row[k] + j + lanes), w1, odd[k]);
    }
  }
  if (j + lanes <= count) {
    const Vec<T> w0 = hn::LoadU(d, w + j);
    for (std::size_t k = 0; k < kRows; ++k) {
      even[k] = hn::MulAdd(as.load(row[k] + j), w0, even[k]);
    }
    j += lanes;
  }
  if (const std::size_t rest = count - j; rest > 0) {
    const Vec<T> w0 = load_part<T>(w + j, rest);
    for (std::size_t k = 0; k < kRows; ++k) {
      even[k] = hn::MulAdd(as.load_first(row[k] + j, rest), w0, even[k]);
    }
  }
  for (std::size_t k = 0; k < kRows; ++k) sum[k] += sum_lanes<T>(hn::Add(even[k], odd[k]));
}

template <class T, class Matrix>
HWY_INLINE void matrix_vector_as(const Matrix& as, const typename Matrix::Element* matrix,
                                 std::size_t stride, const T* w, std::size_t rows,
                                 std::size_t columns, T* out) {
  constexpr std::size_t kRows = kRowsTogether;
  for (std::size_t i = 0; i < rows; i += kRows) {
    double sum[kRows] = {};
    for (std::size_t j = 0; j < columns; j += kBlock) {
      // A last group of fewer rows repeats its last one, so that a row's result never depends on its
      // place.
      const typename Matrix::Element* row[kRows];
      for (std::size_t k = 0; k < kRows; ++k) {
        row[k] = matrix + std::min(i + k, rows - 1) * stride + j;
      }
      dot_rows<T>(as, row, w + j, std::min(kBlock, columns - j), sum);
    }
    for (std::size_t k = 0; k < std::min(kRows, rows - i); ++k) out[i + k] = static_cast<T>(sum[k]);
  }
}

template <class T>
void matrix_vector(const T* matrix, std::size_t stride, const T* w, std::size_t rows,
                   std::size_t columns, T* out) {
  matrix_vector_as<T>(PlainMatrix<T>(), matrix, stride, w, rows, columns, out);
}

/// A tile of kTileRows rows and two vectors of columns stays in registers while all `rank` updates
/// are added to it. Its corner is at (row, column) of the matrix.
constexpr std::size_t kTileRows = 4;

template <class T, class Matrix>
HWY_INLINE void update_tile(const Matrix& as, typename Matrix::Element* tile, std::size_t stride,
                            std::size_t row, std::size_t column, const T* packed_u,
                            const T* packed_v, std::size_t rank) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  Vec<T> left[kTileRows], right[kTileRows];
  for (std::size_t i = 0; i < kTileRows; ++i) {
    left[i] = as.load(tile + i * stride);
    right[i] = as.load(tile + i * stride + lanes);
  }
  for (std::size_t k = 0; k < rank; ++k) {
    const Vec<T> v0 = hn::LoadU(d, packed_v + k * 2 * lanes);
    const Vec<T> v1 = hn::LoadU(d, packed_v + k * 2 * lanes + lanes);
    for (std::size_t i = 0; i < kTileRows; ++i) {
      const Vec<T> u = hn::Set(d, packed_u[k * kTileRows + i]);
      left[i] = hn::MulAdd(u, v0, left[i]);
      right[i] = hn::MulAdd(u, v1, right[i]);
    }
  }
  for (std::size_t i = 0; i < kTileRows; ++i) {
    as.store(left[i], tile + i * stride, row + i, column);
    as.store(right[i], tile + i * stride + lanes, row + i, column + lanes);
  }
}

template <class T, class Matrix>
HWY_INLINE void rank_update_as(const Matrix& as, typename Matrix::Element* matrix,
                               std::size_t stride, std::size_t rows, std::size_t columns,
                               const T* const* u, const T* const* v, std::size_t rank, T* scratch) {
  using Element = typename Matrix::Element;
  const Tag<T> d;
  const std::size_t tile = 2 * hn::Lanes(d);
  // Columns are taken in panels whose part of v, packed tile by tile, stays in the second-level
  // cache.
  const std::size_t panel = 512 / tile * tile;
  T* packed_v = scratch;                 // rank * panel
  T* packed_u = scratch + rank * panel;  // rank * kTileRows, of the 16 that are there
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
    for (std::size_t i = 0; i < rows; i += kTileRows) {
      const std::size_t height = std::min(kTileRows, rows - i);
      for (std::size_t k = 0; k < rank; ++k) {
        for (std::size_t q = 0; q < kTileRows; ++q) {
          packed_u[k * kTileRows + q] = q < height ? u[k][i + q] : T{0};
        }
      }
      for (std::size_t j = 0; j < width; j += tile) {
        Element* corner = matrix + i * stride + j0 + j;
        const std::size_t part = std::min(tile, width - j);
        if (height == kTileRows && part == tile) {
          update_tile<T>(as, corner, stride, i, j0 + j, packed_u, packed_v + j * rank, rank);
        } else {
          // The edge: the same tile on a copy.
          HWY_ALIGN Element copy[kTileRows * 2 * hn::MaxLanes(Tag<T>())] = {};
          for (std::size_t q = 0; q < height; ++q) {
            std::copy_n(corner + q * stride, part, copy + q * tile);
          }
          update_tile<T>(as, copy, tile, i, j0 + j, packed_u, packed_v + j * rank, rank);
          for (std::size_t q = 0; q < height; ++q) {
            std::copy_n(copy + q * tile, part, corner + q * stride);
          }
        }
      }
    }
  }
}

template <class T>
void rank_update(T* matrix, std::size_t stride, std::size_t rows, std::size_t columns,
                 const T* const* u, const T* const* v, std::size_t rank, T* scratch) {
  rank_update_as<T>(PlainMatrix<T>(), matrix, stride, rows, columns, u, v, rank, scratch);
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
