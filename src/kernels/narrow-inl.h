// SPDX-License-Identifier: MIT
// Rounding of float to its upper half, which is bfloat16, and back. Included once for each
// instruction set.
#include <tandem/bfloat16.h>

#include <cstddef>
#include <cstdint>

#if defined(TANDEM_KERNELS_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_NARROW_INL_H_
#undef TANDEM_KERNELS_NARROW_INL_H_
#else
#define TANDEM_KERNELS_NARROW_INL_H_
#endif

#include "kernels/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

using Bits = Tag<std::uint32_t>;
using HalfBits = hn::Rebind<std::uint16_t, Bits>;

/// Exact.
HWY_INLINE Vec<float> widen_halves(hn::Vec<HalfBits> upper) {
  return hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(hn::PromoteTo(Bits(), upper)));
}

HWY_INLINE hn::Vec<HalfBits> upper_halves(hn::Vec<Bits> bits) {
  // TruncateTo is not in this Highway for all targets; DemoteTo saturates signed values, and upper
  // halves are below 2^16, so it does the same.
  return hn::DemoteTo(HalfBits(),
                      hn::BitCast(hn::RebindToSigned<Bits>(), hn::ShiftRight<16>(bits)));
}

/// What is added to the lower half must not make an infinity or a zero of a NaN. An infinity has
/// zeros there, so that nothing is carried.
HWY_INLINE hn::Vec<Bits> keep_nan(hn::Vec<Bits> bits, hn::Vec<Bits> rounded) {
  const Bits d;
  const auto value = hn::BitCast(Tag<float>(), bits);
  // Not Ne, which is false for a NaN on some targets.
  const auto number = hn::RebindMask(d, hn::Eq(value, value));
  return hn::IfThenElse(number, rounded, hn::Or(bits, hn::Set(d, 0x00400000U)));
}

/// To nearest, ties to even; the result is the upper half.
HWY_INLINE hn::Vec<Bits> to_nearest(hn::Vec<Bits> bits) {
  const Bits d;
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1U));
  return keep_nan(bits, hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFU))));
}

/// Up where the lower half and 16 bits of noise are more than it holds; the result is the upper
/// half.
HWY_INLINE hn::Vec<Bits> up_or_down(hn::Vec<Bits> bits, hn::Vec<Bits> noise) {
  return keep_nan(bits, hn::Add(bits, noise));
}

/// 32 bits of noise for each lane, of the key and of the index alone; that of the first lane is
/// `index`.
HWY_INLINE hn::Vec<Bits> noise_at(std::uint32_t index, std::uint64_t key) {
  const Bits d;
  // Iota of anything but a constant goes through memory, a lane at a time.
  auto x = hn::Add(hn::Iota(d, 0U), hn::Set(d, index + static_cast<std::uint32_t>(key)));
  // Two rounds of multiply and shift (the constants of Wellons' lowbias32).
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7FEB352DU));
  x = hn::Xor(x, hn::Set(d, static_cast<std::uint32_t>(key >> 32)));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846CA68BU));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
