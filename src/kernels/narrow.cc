// SPDX-License-Identifier: MIT
#include "kernels/narrow.h"

#include "kernels/noise_ranges.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow.cc"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set
// after it:
#include "kernels/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// Calls body(i, bits of the vector at i) for whole vectors and the rest, and stores the upper
/// halves of what it gives.
template <class Body>
HWY_INLINE void store_upper_halves(const float* from, std::size_t count, BFloat16* to,
                                   const Body& body) {
  const Bits d;
  const HalfBits half;
  const std::size_t lanes = hn::Lanes(d);
  auto* out = reinterpret_cast<std::uint16_t*>(to);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(d, hn::LoadU(Tag<float>(), from + i));
    hn::StoreU(upper_halves(body(i, bits)), half, out + i);
  }
  if (i < count) {
    const auto bits = hn::BitCast(d, load_part<float>(from + i, count - i));
    HWY_ALIGN std::uint32_t rest[hn::MaxLanes(Bits())];
    hn::Store(hn::ShiftRight<16>(body(i, bits)), d, rest);
    for (std::size_t k = 0; i + k < count; ++k) out[i + k] = static_cast<std::uint16_t>(rest[k]);
  }
}

void widen_on_target(const BFloat16* from, std::size_t count, float* to) {
  const Bits d;
  const HalfBits half;
  const std::size_t lanes = hn::Lanes(d);
  const auto* in = reinterpret_cast<const std::uint16_t*>(from);
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(half, in + i))), d, out + i);
  }
  for (; i < count; ++i) out[i] = static_cast<std::uint32_t>(in[i]) << 16;
}

void narrow_on_target(const float* from, std::size_t count, BFloat16* to) {
  store_upper_halves(from, count, to,
                     [](std::size_t, hn::Vec<Bits> bits) HWY_ATTR { return to_nearest(bits); });
}

void narrow_stochastic_on_target(const float* from, std::size_t count, BFloat16* to,
                                 std::uint64_t key, std::uint32_t first) {
  store_upper_halves(from, count, to, [key, first](std::size_t i, hn::Vec<Bits> bits) HWY_ATTR {
    const auto noise = noise_at(first + static_cast<std::uint32_t>(i), key);
    return up_or_down(bits, hn::And(noise, hn::Set(Bits(), 0xFFFFU)));
  });
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(widen_on_target);
HWY_EXPORT(narrow_on_target);
HWY_EXPORT(narrow_stochastic_on_target);

void widen(const BFloat16* from, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_on_target)(from, count, to);
}
void narrow(const float* from, std::size_t count, BFloat16* to) {
  HWY_DYNAMIC_DISPATCH(narrow_on_target)(from, count, to);
}
void narrow_stochastic(const float* from, std::size_t count, BFloat16* to, std::uint64_t key,
                       std::uint64_t first_element) {
  for_noise_ranges(key, first_element, count,
                   [&](std::size_t at, std::size_t part, std::uint64_t own, std::uint32_t first) {
                     HWY_DYNAMIC_DISPATCH(narrow_stochastic_on_target)
                     (from + at, part, to + at, own, first);
                   });
}
}  // namespace tandem::kernels
#endif
