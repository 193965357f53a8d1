// SPDX-License-Identifier: MIT
// What the kernels share: sums of lanes, partial vectors at the end of a range, the hash that
// notices changed weights. Included once for each instruction set.
#include <cstddef>
#include <cstdint>

#include "kernels/hash.h"

#if defined(TANDEM_KERNELS_COMMON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_COMMON_INL_H_
#undef TANDEM_KERNELS_COMMON_INL_H_
#else
#define TANDEM_KERNELS_COMMON_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

/// The sum of a vector's lanes in double, in the order of the lanes.
template <class T>
HWY_INLINE double sum_lanes(Vec<T> v) {
  const Tag<T> d;
  HWY_ALIGN T lanes[hn::MaxLanes(Tag<T>())];
  hn::Store(v, d, lanes);
  double sum = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) sum += static_cast<double>(lanes[i]);
  return sum;
}

template <class T>
HWY_INLINE double max_lanes(Vec<T> v) {
  return static_cast<double>(hn::GetLane(hn::MaxOfLanes(Tag<T>(), v)));
}

/// Loads `count` (fewer than a vector's lanes) values and zeros behind them, without reading past
/// the end.
template <class T>
HWY_INLINE Vec<T> load_part(const T* from, std::size_t count) {
  const Tag<T> d;
  HWY_ALIGN T lanes[hn::MaxLanes(Tag<T>())] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
}

template <class T>
HWY_INLINE void store_part(Vec<T> v, T* to, std::size_t count) {
  const Tag<T> d;
  HWY_ALIGN T lanes[hn::MaxLanes(Tag<T>())];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
}

/// A running hash of the bits of values: a rotation and an addition a lane, so that order counts.
template <class T>
struct WeightsHash {
  using Bits = hn::RebindToUnsigned<Tag<T>>;
  hn::Vec<Bits> state;

  // Written out: g++ gives implicit constructors no instruction set.
  WeightsHash() : state(hn::Zero(Bits())) {}

  HWY_INLINE void add(Vec<T> v) {
    state = hn::Add(hn::RotateRight<11>(state), hn::BitCast(Bits(), v));
  }
  HWY_INLINE std::uint64_t value() const {
    const Bits d;
    HWY_ALIGN hn::TFromD<Bits> lanes[hn::MaxLanes(Bits())];
    hn::Store(state, d, lanes);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) hash = combine_hashes(hash, lanes[i]);
    return hash;
  }
};

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
