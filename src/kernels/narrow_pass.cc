// SPDX-License-Identifier: MIT
#include "kernels/narrow_pass.h"

#include <algorithm>

#include "kernels/noise_ranges.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow_pass.cc"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set
// after it:
#include "kernels/narrow-inl.h"
#include "kernels/pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// Whole vectors of bfloat16, or the first `rest` lanes of one.
template <bool kWhole>
struct Narrow {
  std::size_t rest;

  HWY_INLINE Vec<float> load(const BFloat16* from) const {
    const HalfBits half;
    const auto* in = reinterpret_cast<const std::uint16_t*>(from);
    if constexpr (kWhole) {
      return widen_halves(hn::LoadU(half, in));
    } else {
      HWY_ALIGN std::uint16_t lanes[hn::MaxLanes(Bits())] = {};
      for (std::size_t i = 0; i < rest; ++i) lanes[i] = in[i];
      return widen_halves(hn::Load(half, lanes));
    }
  }
  /// Stores the upper halves.
  HWY_INLINE void store(hn::Vec<Bits> rounded, BFloat16* to) const {
    const HalfBits half;
    auto* out = reinterpret_cast<std::uint16_t*>(to);
    const auto upper = upper_halves(rounded);
    if constexpr (kWhole) {
      hn::StoreU(upper, half, out);
    } else {
      HWY_ALIGN std::uint16_t lanes[hn::MaxLanes(Bits())];
      hn::Store(upper, half, lanes);
      for (std::size_t i = 0; i < rest; ++i) out[i] = lanes[i];
    }
  }
  HWY_INLINE Vec<float> load(const float* from) const {
    if constexpr (kWhole) return hn::LoadU(Tag<float>(), from);
    return load_part<float>(from, rest);
  }
  HWY_INLINE void store(Vec<float> v, float* to) const {
    if constexpr (kWhole) {
      hn::StoreU(v, Tag<float>(), to);
    } else {
      store_part<float>(v, to, rest);
    }
  }
};

/// Rounds the arrays of one vector one after another. A call of the noise gives 32 bits, which is
/// enough for two arrays.
template <bool kStochastic>
struct Rounder {
  std::uint64_t key;
  std::uint32_t index;
  hn::Vec<Bits> noise;
  int array = 0;

  HWY_INLINE Rounder(std::uint64_t k, std::uint32_t i)
      : key(k), index(i), noise(hn::Zero(Bits())) {}

  HWY_INLINE hn::Vec<Bits> operator()(Vec<float> v) {
    const auto bits = hn::BitCast(Bits(), v);
    if constexpr (!kStochastic) return to_nearest(bits);
    // Multiplied by an odd number, keys of pairs of arrays differ in both halves.
    if (array % 2 == 0) {
      noise = noise_at(index, key + static_cast<unsigned>(array / 2) * 0x9E3779B97F4A7C15ULL);
    } else {
      noise = hn::ShiftRight<16>(noise);
    }
    ++array;
    return up_or_down(bits, hn::And(noise, hn::Set(Bits(), 0xFFFFU)));
  }
};

/// Elements whose numbers have the same upper half, which is in the key.
template <class E, class S, bool kStochastic>
void run_narrow(const NarrowStreams& s, const PassScalars<float>& scalars, std::uint64_t key,
                std::uint32_t first_element, std::size_t count, PassSums* out) {
  static_assert(E::kStates <= 2 && !E::kGiven && !E::kHashes);
  const std::size_t lanes = hn::Lanes(Tag<float>());
  const Constants<float> k(scalars);
  Sums<float> sums;
  const Vec<float> zero = hn::Zero(Tag<float>());

  const auto visit = [&](const auto& memory, std::size_t i) HWY_ATTR {
    Values<float> x{
        memory.load(s.weights + i), memory.load(s.gradient + i), zero, zero, zero, zero, zero};
    if constexpr (E::kStates > 0) x.first = memory.load(s.first + i);
    if constexpr (E::kStates > 1) x.second = memory.load(s.second + i);
    if constexpr (S::kMoment) x.moment = memory.load(s.moment + i);
    const Vec<float> estimate = step_values<E, S, float>(x, k, sums);
    if (s.estimate != nullptr) memory.store(estimate, s.estimate + i);
    memory.store(x.weights, s.weights + i);
    Rounder<kStochastic> rounded(key, first_element + static_cast<std::uint32_t>(i));
    if constexpr (E::kStates > 0) memory.store(rounded(x.first), s.first + i);
    if constexpr (E::kStates > 1) memory.store(rounded(x.second), s.second + i);
    if constexpr (S::kMoment) memory.store(rounded(x.moment), s.moment + i);
  };

  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) visit(Narrow<true>{lanes}, i);
  if (i < count) visit(Narrow<false>{count - i}, i);

  if constexpr (E::kSums) {
    out->residual2 += sum_lanes<float>(sums.residual2);
    out->gradient2 += sum_lanes<float>(sums.gradient2);
    out->delta = std::max(out->delta, max_lanes<float>(sums.delta));
  }
}

template <class E, class S>
void run_narrow_pass(const NarrowStreams& s, const PassScalars<float>& scalars,
                     const StateRounding& rounding, std::size_t count, PassSums* out) {
  *out = {};
  const auto run = rounding.stochastic ? &run_narrow<E, S, true> : &run_narrow<E, S, false>;
  const auto shifted = [](auto* stream, std::size_t by) {
    return stream == nullptr ? nullptr : stream + by;
  };
  for_noise_ranges(rounding.key, rounding.first_element, count,
                   [&](std::size_t at, std::size_t part, std::uint64_t key, std::uint32_t first) {
                     run({shifted(s.weights, at), shifted(s.gradient, at), shifted(s.first, at),
                          shifted(s.second, at), shifted(s.moment, at), shifted(s.estimate, at)},
                         scalars, key, first, part, out);
                   });
}

template <class E>
NarrowPass select_narrow_scaling(ScalingStage scaling) {
  switch (scaling) {
    case ScalingStage::none:
      return &run_narrow_pass<E, NoScaling>;
    case ScalingStage::second_moment:
      return &run_narrow_pass<E, SecondMoment>;
    case ScalingStage::sign:
      return &run_narrow_pass<E, Sign>;
  }
  return nullptr;
}

NarrowPass select_narrow_pass(EstimatorStage estimator, ScalingStage scaling) {
  switch (estimator) {
    case EstimatorStage::identity:
      return select_narrow_scaling<Identity>(scaling);
    case EstimatorStage::average:
      return select_narrow_scaling<Average>(scaling);
    case EstimatorStage::diagonal:
      return select_narrow_scaling<Diagonal<false>>(scaling);
    case EstimatorStage::diagonal_normalized:
      return select_narrow_scaling<Diagonal<true>>(scaling);
    case EstimatorStage::rank_one:
    case EstimatorStage::given:
      return nullptr;
  }
  return nullptr;
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(select_narrow_pass);

NarrowPass narrow_pass(EstimatorStage estimator, ScalingStage scaling) {
  return HWY_DYNAMIC_DISPATCH(select_narrow_pass)(estimator, scaling);
}
}  // namespace tandem::kernels
#endif
