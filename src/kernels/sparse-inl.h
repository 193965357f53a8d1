// SPDX-License-Identifier: MIT
// The two products of populations with samples that are mostly zeros. A vector's lanes are rows of
// the other factor (classes of members), so that a value other than zero costs one multiply-add a
// vector, whatever its feature. Each element is one chain of multiply-adds in the order of features
// or samples, as in gemm-inl.h with the zeros left out: its bits are the same as there. Included
// once for each instruction set.
#include "kernels/kernels.h"

#if defined(TANDEM_KERNELS_SPARSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_SPARSE_INL_H_
#undef TANDEM_KERNELS_SPARSE_INL_H_
#else
#define TANDEM_KERNELS_SPARSE_INL_H_
#endif

#include <algorithm>

#include "kernels/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// Vectors of rows that are worked on at a time.
constexpr std::size_t kSparseVectors = 4;

/// to[j * to_row + i] = from[i * from_row + j] for a square of 16 bytes a side.
template <class T>
HWY_INLINE void transpose_square(const T* from, std::size_t from_row, T* to, std::size_t to_row) {
#if HWY_TARGET == HWY_SCALAR
  constexpr std::size_t kSide = 16 / sizeof(T);
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < kSide; ++j) to[j * to_row + i] = from[i * from_row + j];
  }
#else
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  if constexpr (sizeof(T) == 8) {
    const auto r0 = hn::LoadU(d, from);
    const auto r1 = hn::LoadU(d, from + from_row);
    hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
    hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + to_row);
  } else {
    const auto r0 = hn::LoadU(d, from);
    const auto r1 = hn::LoadU(d, from + from_row);
    const auto r2 = hn::LoadU(d, from + 2 * from_row);
    const auto r3 = hn::LoadU(d, from + 3 * from_row);
    const auto low02 = hn::InterleaveLower(d, r0, r2);
    const auto low13 = hn::InterleaveLower(d, r1, r3);
    const auto high02 = hn::InterleaveUpper(d, r0, r2);
    const auto high13 = hn::InterleaveUpper(d, r1, r3);
    hn::StoreU(hn::InterleaveLower(d, low02, low13), d, to);
    hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, to + to_row);
    hn::StoreU(hn::InterleaveLower(d, high02, high13), d, to + 2 * to_row);
    hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, to + 3 * to_row);
  }
#endif
}

/// to[j * to_row + i] = from[i * from_row + j] for all i below `rows` and j below `columns`.
template <class T>
HWY_INLINE void transpose(const T* from, std::size_t from_row, std::size_t rows,
                          std::size_t columns, T* to, std::size_t to_row) {
  constexpr std::size_t kSide = 16 / sizeof(T);
  const std::size_t square_rows = rows / kSide * kSide;
  const std::size_t square_columns = columns / kSide * kSide;
  for (std::size_t j = 0; j < square_columns; j += kSide) {
    for (std::size_t i = 0; i < square_rows; i += kSide) {
      transpose_square(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
    }
    for (std::size_t i = square_rows; i < rows; ++i) {
      for (std::size_t q = j; q < j + kSide; ++q) to[q * to_row + i] = from[i * from_row + q];
    }
  }
  for (std::size_t j = square_columns; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) to[j * to_row + i] = from[i * from_row + j];
  }
}

/// sums = for each of kVectors vectors, the chain over `count` values of value * matrix[index].
template <class T, std::size_t kVectors>
HWY_INLINE void sum_chain(const std::uint32_t* index, const T* values, std::size_t count,
                          const T* matrix, T* sums) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  Vec<T> sum[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (std::size_t k = 0; k < count; ++k) {
    const T* row = matrix + index[k] * kVectors * lanes;
    const Vec<T> value = hn::Set(d, values[k]);
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[v] = hn::MulAdd(hn::LoadU(d, row + v * lanes), value, sum[v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, sums + v * lanes);
}

/// C = A X^T for rows that fill kVectors vectors.
template <class T, std::size_t kVectors>
struct ProductPanel {
  static void run(std::size_t rows, const T* a, std::size_t a_row, const SparseSamples<T>& x, T* c,
                  std::size_t c_row, T* scratch) {
    const std::size_t width = kVectors * hn::Lanes(Tag<T>());
    T* by_place = scratch;  // a row a place, a column a row of A
    T* by_sample = scratch + x.blocks * kFeatureBlock * width;
    // As many rows at a time as a line of the cache has: few streams are read, whole lines written.
    constexpr std::size_t kRowsAtOnce = 64 / sizeof(T);
    for (std::size_t i = 0; i < rows; i += kRowsAtOnce) {
      const std::size_t count = std::min(kRowsAtOnce, rows - i);
      for (std::size_t b = 0; b < x.blocks; ++b) {
        const std::size_t first = x.block_features[b];
        transpose(a + i * a_row + first, a_row, count,
                  std::min<std::size_t>(kFeatureBlock, x.features - first),
                  by_place + b * kFeatureBlock * width + i, width);
      }
    }
    for (std::size_t n = 0; n < x.samples; ++n) {
      const std::size_t begin = x.sample_begin[n];
      sum_chain<T, kVectors>(x.places + begin, x.place_values + begin,
                             x.sample_begin[n + 1] - begin, by_place, by_sample + n * width);
    }
    transpose(by_sample, width, x.samples, rows, c, c_row);
  }
};

/// C = A X for rows that fill kVectors vectors.
template <class T, std::size_t kVectors>
struct SpreadPanel {
  static void run(std::size_t rows, const T* a, std::size_t a_row, const SparseSamples<T>& x, T* c,
                  std::size_t c_row, T* scratch) {
    const std::size_t width = kVectors * hn::Lanes(Tag<T>());
    transpose(a, a_row, rows, x.samples, scratch, width);
    HWY_ALIGN T block[kFeatureBlock * kVectors * hn::MaxLanes(Tag<T>())];
    for (std::size_t i = 0; i < rows; ++i) std::fill_n(c + i * c_row, x.features, T{0});
    for (std::size_t b = 0; b < x.blocks; ++b) {
      const std::size_t first = x.block_features[b];
      const std::size_t count = std::min<std::size_t>(kFeatureBlock, x.features - first);
      for (std::size_t q = 0; q < count; ++q) {
        const std::size_t place = b * kFeatureBlock + q;
        const std::size_t begin = x.place_begin[place];
        sum_chain<T, kVectors>(x.samples_of + begin, x.sample_values + begin,
                               x.place_begin[place + 1] - begin, scratch, block + q * width);
      }
      transpose(block, width, count, rows, c + first, c_row);
    }
  }
};

/// As many rows at a time as fill kSparseVectors vectors, the last ones with fewer.
template <class T, template <class, std::size_t> class Panel>
HWY_INLINE void over_panels(std::size_t rows, const T* a, std::size_t a_row,
                            const SparseSamples<T>& x, T* c, std::size_t c_row, T* scratch) {
  static_assert(kSparseVectors == 4);
  constexpr decltype(&Panel<T, 1>::run) kOfVectors[] = {&Panel<T, 1>::run, &Panel<T, 2>::run,
                                                        &Panel<T, 3>::run, &Panel<T, 4>::run};
  const std::size_t lanes = hn::Lanes(Tag<T>());
  for (std::size_t first = 0; first < rows; first += kSparseVectors * lanes) {
    const std::size_t count = std::min(rows - first, kSparseVectors * lanes);
    kOfVectors[(count - 1) / lanes](count, a + first * a_row, a_row, x, c + first * c_row, c_row,
                                    scratch);
  }
}

template <class T>
void sparse_product(std::size_t rows, const T* a, std::size_t a_row, const SparseSamples<T>& x,
                    T* c, std::size_t c_row, T* scratch) {
  over_panels<T, ProductPanel>(rows, a, a_row, x, c, c_row, scratch);
}

template <class T>
void sparse_spread(std::size_t rows, const T* a, std::size_t a_row, const SparseSamples<T>& x, T* c,
                   std::size_t c_row, T* scratch) {
  over_panels<T, SpreadPanel>(rows, a, a_row, x, c, c_row, scratch);
}

template <class T>
std::size_t sparse_scratch(std::size_t rows, const SparseSamples<T>& x) {
  const std::size_t lanes = hn::Lanes(Tag<T>());
  const std::size_t vectors = std::min(kSparseVectors, (rows + lanes - 1) / lanes);
  return (x.blocks * kFeatureBlock + x.samples) * vectors * lanes;
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
