// SPDX-License-Identifier: MIT
#include "kernels/narrow_matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow_matrix.cc"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set
// after it:
#include "kernels/hash.h"
#include "kernels/matrix-inl.h"
#include "kernels/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// Widened when it is read, rounded when it is written; compare PlainMatrix.
template <bool kStochastic>
struct RoundedMatrix {
  using Element = BFloat16;
  static constexpr bool kPrefetch = true;
  std::uint64_t key = 0;
  std::uint64_t first_row = 0;

  HWY_INLINE Vec<float> load(const BFloat16* from) const {
    return widen_halves(hn::LoadU(HalfBits(), reinterpret_cast<const std::uint16_t*>(from)));
  }
  HWY_INLINE Vec<float> load_first(const BFloat16* from, std::size_t count) const {
    HWY_ALIGN std::uint16_t lanes[hn::MaxLanes(Bits())] = {};
    for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i].bits;
    return widen_halves(hn::Load(HalfBits(), lanes));
  }
  HWY_INLINE void store(Vec<float> v, BFloat16* to, std::size_t row, std::size_t column) const {
    const auto bits = hn::BitCast(Bits(), v);
    hn::StoreU(upper_halves(rounded(bits, row, column)), HalfBits(),
               reinterpret_cast<std::uint16_t*>(to));
  }

 private:
  HWY_INLINE hn::Vec<Bits> rounded(hn::Vec<Bits> bits, std::size_t row, std::size_t column) const {
    if constexpr (!kStochastic) return to_nearest(bits);
    // A key a row: columns are counted in 32 bits, elements of a large matrix could not be.
    const auto noise =
        noise_at(static_cast<std::uint32_t>(column), combine_hashes(key, first_row + row));
    return up_or_down(bits, hn::And(noise, hn::Set(Bits(), 0xFFFFU)));
  }
};

void narrow_matrix_vector(const BFloat16* matrix, std::size_t stride, const float* w,
                          std::size_t rows, std::size_t columns, float* out) {
  matrix_vector_as<float>(RoundedMatrix<false>(), matrix, stride, w, rows, columns, out);
}

void narrow_rank_update(BFloat16* matrix, std::size_t stride, std::size_t rows, std::size_t columns,
                        const float* const* u, const float* const* v, std::size_t rank,
                        const MatrixRounding& rounding, float* scratch) {
  if (rounding.stochastic) {
    const RoundedMatrix<true> as{rounding.key, rounding.first_row};
    rank_update_as<float>(as, matrix, stride, rows, columns, u, v, rank, scratch);
  } else {
    rank_update_as<float>(RoundedMatrix<false>(), matrix, stride, rows, columns, u, v, rank,
                          scratch);
  }
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(narrow_matrix_vector);
HWY_EXPORT(narrow_rank_update);

void matrix_vector(const BFloat16* matrix, std::size_t stride, const float* w, std::size_t rows,
                   std::size_t columns, float* out) {
  HWY_DYNAMIC_DISPATCH(narrow_matrix_vector)(matrix, stride, w, rows, columns, out);
}
void rank_update(BFloat16* matrix, std::size_t stride, std::size_t rows, std::size_t columns,
                 const float* const* u, const float* const* v, std::size_t rank,
                 const MatrixRounding& rounding, float* scratch) {
  HWY_DYNAMIC_DISPATCH(narrow_rank_update)
  (matrix, stride, rows, columns, u, v, rank, rounding, scratch);
}
}  // namespace tandem::kernels
#endif
