// SPDX-License-Identifier: MIT
// Loops over one or two vectors: sums, checks, hashes. Included once for each instruction set.
#include "kernels/kernels.h"

#if defined(TANDEM_KERNELS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_VECTOR_INL_H_
#undef TANDEM_KERNELS_VECTOR_INL_H_
#else
#define TANDEM_KERNELS_VECTOR_INL_H_
#endif

#include <algorithm>

#include "kernels/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// Calls body(i, load, store) for each whole vector and once for what is left.
template <class T, class Body>
HWY_INLINE void for_vectors(std::size_t count, const Body& body) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    body(
        i, [d](const T* from) HWY_ATTR { return hn::LoadU(d, from); },
        [d](Vec<T> v, T* to) HWY_ATTR { hn::StoreU(v, d, to); });
  }
  if (i < count) {
    const std::size_t rest = count - i;
    body(
        i, [rest](const T* from) HWY_ATTR { return load_part<T>(from, rest); },
        [rest](Vec<T> v, T* to) HWY_ATTR { store_part<T>(v, to, rest); });
  }
}

/// The dot product of at most kBlock elements: four chains of lanes.
template <class T>
HWY_INLINE double dot_block(const T* x, const T* y, std::size_t count) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  Vec<T> s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), s0);
    s1 = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), s1);
    s2 = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), hn::LoadU(d, y + i + 2 * lanes), s2);
    s3 = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), hn::LoadU(d, y + i + 3 * lanes), s3);
  }
  for_vectors<T>(count - i, [&](std::size_t j, auto&& load, auto&&) HWY_ATTR {
    s0 = hn::MulAdd(load(x + i + j), load(y + i + j), s0);
  });
  return sum_lanes<T>(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

template <class T>
double dot(const T* x, const T* y, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; i += kBlock) {
    sum += dot_block<T>(x + i, y + i, std::min(kBlock, count - i));
  }
  return sum;
}

/// x - x is 0 for a finite x and NaN otherwise, and a NaN stays in a sum: one look at the end of a
/// block is enough.
template <class T>
std::size_t first_nonfinite(const T* x, std::size_t count) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, count);
    Vec<T> s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    std::size_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      const Vec<T> x0 = hn::LoadU(d, x + i), x1 = hn::LoadU(d, x + i + lanes);
      const Vec<T> x2 = hn::LoadU(d, x + i + 2 * lanes), x3 = hn::LoadU(d, x + i + 3 * lanes);
      s0 = hn::Add(s0, hn::Sub(x0, x0));
      s1 = hn::Add(s1, hn::Sub(x1, x1));
      s2 = hn::Add(s2, hn::Sub(x2, x2));
      s3 = hn::Add(s3, hn::Sub(x3, x3));
    }
    for_vectors<T>(end - i, [&](std::size_t j, auto&& load, auto&&) HWY_ATTR {
      const Vec<T> v = load(x + i + j);
      s0 = hn::Add(s0, hn::Sub(v, v));
    });
    const Vec<T> sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
    if (!hn::AllTrue(d, hn::Eq(sum, hn::Zero(d)))) {
      for (i = begin; i < end; ++i) {
        if (!(x[i] - x[i] == T{0})) return i;
      }
    }
  }
  return count;
}

template <class T>
std::uint64_t hash(const T* x, std::size_t count) {
  std::uint64_t combined = 0;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    WeightsHash<T> block;
    for_vectors<T>(std::min(kBlock, count - begin),
                   [&](std::size_t i, auto&& load, auto&&)
                       HWY_ATTR { block.add(load(x + begin + i)); });
    combined = begin == 0 ? block.value() : combine_hashes(combined, block.value());
  }
  return combined;
}

template <class T>
void scale(T* x, std::size_t count, T factor) {
  const Vec<T> f = hn::Set(Tag<T>(), factor);
  for_vectors<T>(count, [&](std::size_t i, auto&& load, auto&& store)
                            HWY_ATTR { store(hn::Mul(load(x + i), f), x + i); });
}

/// A NaN stays a NaN: hiding it would hide a diverged run.
template <class T>
void clamp(T* x, std::size_t count, T low, T high) {
  const Vec<T> lo = hn::Set(Tag<T>(), low), hi = hn::Set(Tag<T>(), high);
  for_vectors<T>(count, [&](std::size_t i, auto&& load, auto&& store) HWY_ATTR {
    const Vec<T> v = load(x + i);
    const Vec<T> above = hn::IfThenElse(hn::Lt(v, lo), lo, v);
    store(hn::IfThenElse(hn::Gt(above, hi), hi, above), x + i);
  });
}

template <class T>
void add_scaled(const T* y, const T* x, std::size_t count, T factor, T* out) {
  const Vec<T> f = hn::Set(Tag<T>(), factor);
  for_vectors<T>(count, [&](std::size_t i, auto&& load, auto&& store)
                            HWY_ATTR { store(hn::MulAdd(f, load(x + i), load(y + i)), out + i); });
}

template <class T>
RankOneGather rank_one_gather(const T* w, const T* g, const T* a, T l2, std::size_t count) {
  const Vec<T> decay = hn::Set(Tag<T>(), l2);
  Vec<T> ga = hn::Zero(Tag<T>());
  WeightsHash<T> weights;
  for_vectors<T>(count, [&](std::size_t i, auto&& load, auto&&) HWY_ATTR {
    const Vec<T> wi = load(w + i);
    ga = hn::MulAdd(hn::MulAdd(decay, wi, load(g + i)), load(a + i), ga);
    weights.add(wi);
  });
  return {sum_lanes<T>(ga), weights.value()};
}

template <class T>
void rank_one_sums(const T* w, const T* a, const T* b, const T* c, std::size_t count,
                   PassSums* sums) {
  Vec<T> cw = hn::Zero(Tag<T>()), ww = cw, aa = cw, ab = cw;
  WeightsHash<T> weights;
  for_vectors<T>(count, [&](std::size_t i, auto&& load, auto&&) HWY_ATTR {
    const Vec<T> wi = load(w + i), ai = load(a + i);
    cw = hn::MulAdd(load(c + i), wi, cw);
    ww = hn::MulAdd(wi, wi, ww);
    aa = hn::MulAdd(ai, ai, aa);
    ab = hn::MulAdd(ai, load(b + i), ab);
    weights.add(wi);
  });
  sums->cw = sum_lanes<T>(cw);
  sums->ww = sum_lanes<T>(ww);
  sums->aa = sum_lanes<T>(aa);
  sums->ab = sum_lanes<T>(ab);
  sums->weights_hash = weights.value();
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
