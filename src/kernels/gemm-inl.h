// SPDX-License-Identifier: MIT
// The matrix product of populations. Each element is one chain of multiply-adds over k in order, so
// that its bits depend on nothing but its row of A and its column of B: not on the other rows, the
// tile, the thread. Included once for each instruction set.
#include "kernels/kernels.h"

#if defined(TANDEM_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_GEMM_INL_H_
#undef TANDEM_KERNELS_GEMM_INL_H_
#else
#define TANDEM_KERNELS_GEMM_INL_H_
#endif

#include <algorithm>

#include "kernels/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// Two vectors: with six rows twelve sums stay in sixteen registers.
template <class T>
std::size_t panel_width() {
  return 2 * hn::Lanes(Tag<T>());
}

/// kRows rows and one panel of columns stay in registers over all of k. `c` has room for the whole
/// panel.
template <class T, int kRows>
HWY_INLINE void product_tile(const T* a, std::size_t a_row, std::size_t a_step, const T* panel,
                             std::size_t depth, T* c, std::size_t c_row) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  Vec<T> left[kRows], right[kRows];
  for (int i = 0; i < kRows; ++i) left[i] = right[i] = hn::Zero(d);
  for (std::size_t k = 0; k < depth; ++k) {
    const Vec<T> b0 = hn::LoadU(d, panel + k * 2 * lanes);
    const Vec<T> b1 = hn::LoadU(d, panel + k * 2 * lanes + lanes);
    for (int i = 0; i < kRows; ++i) {
      const Vec<T> value = hn::Set(d, a[static_cast<std::size_t>(i) * a_row + k * a_step]);
      left[i] = hn::MulAdd(value, b0, left[i]);
      right[i] = hn::MulAdd(value, b1, right[i]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(left[i], d, c + static_cast<std::size_t>(i) * c_row);
    hn::StoreU(right[i], d, c + static_cast<std::size_t>(i) * c_row + lanes);
  }
}

template <class T>
HWY_INLINE void product_rows(std::size_t rows, const T* a, std::size_t a_row, std::size_t a_step,
                             const T* panel, std::size_t depth, T* c, std::size_t c_row) {
  switch (rows) {
    case 6:
      return product_tile<T, 6>(a, a_row, a_step, panel, depth, c, c_row);
    case 5:
      return product_tile<T, 5>(a, a_row, a_step, panel, depth, c, c_row);
    case 4:
      return product_tile<T, 4>(a, a_row, a_step, panel, depth, c, c_row);
    case 3:
      return product_tile<T, 3>(a, a_row, a_step, panel, depth, c, c_row);
    case 2:
      return product_tile<T, 2>(a, a_row, a_step, panel, depth, c, c_row);
    default:
      return product_tile<T, 1>(a, a_row, a_step, panel, depth, c, c_row);
  }
}

template <class T>
void product(std::size_t rows, std::size_t columns, std::size_t depth, const T* a,
             std::size_t a_row, std::size_t a_step, const T* packed, T* c, std::size_t c_row) {
  const std::size_t width = panel_width<T>();
  HWY_ALIGN T edge[6 * 2 * hn::MaxLanes(Tag<T>())];
  for (std::size_t i = 0; i < rows; i += 6) {
    const std::size_t height = std::min<std::size_t>(6, rows - i);
    for (std::size_t j = 0; j < columns; j += width) {
      const T* panel = packed + j * depth;
      T* corner = c + i * c_row + j;
      if (j + width <= columns) {
        product_rows<T>(height, a + i * a_row, a_row, a_step, panel, depth, corner, c_row);
        continue;
      }
      product_rows<T>(height, a + i * a_row, a_row, a_step, panel, depth, edge, width);
      for (std::size_t q = 0; q < height; ++q) {
        std::copy_n(edge + q * width, columns - j, corner + q * c_row);
      }
    }
  }
}

template <class T>
void pack(const T* const* rows, std::size_t depth, std::size_t columns, T* packed) {
  const std::size_t width = panel_width<T>();
  for (std::size_t j = 0; j < columns; j += width) {
    const std::size_t part = std::min(width, columns - j);
    for (std::size_t k = 0; k < depth; ++k) {
      std::copy_n(rows[k] + j, part, packed);
      std::fill(packed + part, packed + width, T{0});
      packed += width;
    }
  }
}

template <class T>
void pack_transposed(const T* const* columns, std::size_t count, std::size_t depth, T* packed) {
  const std::size_t width = panel_width<T>();
  // A few steps of k at a time, so that the lines which are written stay in the cache.
  constexpr std::size_t kSteps = 64;
  for (std::size_t j = 0; j < count; j += width) {
    const std::size_t part = std::min(width, count - j);
    for (std::size_t k0 = 0; k0 < depth; k0 += kSteps) {
      const std::size_t k1 = std::min(depth, k0 + kSteps);
      for (std::size_t q = 0; q < width; ++q) {
        const T* column = q < part ? columns[j + q] : nullptr;
        for (std::size_t k = k0; k < k1; ++k) {
          packed[k * width + q] = column == nullptr ? T{0} : column[k];
        }
      }
    }
    packed += depth * width;
  }
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
