// SPDX-License-Identifier: MIT
// The stages of the fused pass and the loop that puts them together. Included once for each
// instruction set.
#include "kernels/pass.h"

#if defined(TANDEM_KERNELS_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_PASS_INL_H_
#undef TANDEM_KERNELS_PASS_INL_H_
#else
#define TANDEM_KERNELS_PASS_INL_H_
#endif

#include "kernels/common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

/// The scalars, broadcast. The compiler keeps those that a pass uses.
template <class T>
struct Constants {
  explicit Constants(const PassScalars<T>& k)
      : minus_lr(all(-k.lr)),
        shrink(all(k.shrink)),
        l2(all(k.l2)),
        keep(all(k.keep)),
        take(all(k.take)),
        out_new(all(k.out_new)),
        out_old(all(k.out_old)),
        out_g(all(k.out_g)),
        alpha(all(k.alpha)),
        beta(all(k.beta)),
        eps(all(k.eps)),
        s_before(all(k.s_before)),
        s_after(all(k.s_after)),
        a_step(all(k.a_step)),
        c_step(all(k.c_step)),
        v_keep(all(k.v_keep)),
        v_take(all(k.v_take)),
        v_root(all(k.v_root)),
        v_eps(all(k.v_eps)) {}

  static Vec<T> all(T value) { return hn::Set(Tag<T>(), value); }

  Vec<T> minus_lr, shrink, l2, keep, take, out_new, out_old, out_g, alpha, beta, eps, s_before,
      s_after, a_step, c_step, v_keep, v_take, v_root, v_eps;
};

/// One vector of each stream, in registers.
template <class T>
struct Values {
  Vec<T> weights, gradient, given, first, second, third, moment;
};

template <class T>
struct Sums {
  Vec<T> residual2, gradient2, delta, cw, ww, aa, ab;
  WeightsHash<T> hash;

  Sums()
      : residual2(zero()),
        gradient2(zero()),
        delta(zero()),
        cw(zero()),
        ww(zero()),
        aa(zero()),
        ab(zero()) {}
  static HWY_INLINE Vec<T> zero() { return hn::Zero(Tag<T>()); }

  HWY_INLINE void residual(Vec<T> r, Vec<T> g) {
    residual2 = hn::MulAdd(r, r, residual2);
    gradient2 = hn::MulAdd(g, g, gradient2);
  }
};

// ---- estimators ----------------------------------------------------------------------------

/// What an estimator uses and fills; each overrides what it needs.
struct EstimatorTraits {
  static constexpr bool kGiven = false;
  static constexpr int kStates = 0;  // how many of first, second, third
  static constexpr bool kSums = false;
  static constexpr bool kAfter = false;   // sums over the new weights
  static constexpr bool kHashes = false;  // wants to know the new weights again

  template <class T>
  static HWY_INLINE void after(const Values<T>&, Sums<T>&) {}
};

struct Identity : EstimatorTraits {
  template <class T>
  static HWY_INLINE Vec<T> estimate(Values<T>& x, const Constants<T>&, Sums<T>&) {
    return x.gradient;
  }
};

struct Given : EstimatorTraits {
  static constexpr bool kGiven = true;
  static constexpr bool kHashes = true;
  template <class T>
  static HWY_INLINE Vec<T> estimate(Values<T>& x, const Constants<T>&, Sums<T>&) {
    return x.given;
  }
};

struct Average : EstimatorTraits {
  static constexpr int kStates = 1;
  template <class T>
  static HWY_INLINE Vec<T> estimate(Values<T>& x, const Constants<T>& k, Sums<T>&) {
    const Vec<T> old = x.first;
    x.first = hn::MulAdd(k.take, x.gradient, hn::Mul(k.keep, old));
    return hn::MulAdd(k.out_g, x.gradient, hn::MulAdd(k.out_old, old, hn::Mul(k.out_new, x.first)));
  }
};

/// Predict p = a w + b, correct a and b by the residual, predict again: G = p + delta r.
template <bool kNormalized>
struct Diagonal : EstimatorTraits {
  static constexpr int kStates = 2;
  static constexpr bool kSums = true;
  template <class T>
  static HWY_INLINE Vec<T> estimate(Values<T>& x, const Constants<T>& k, Sums<T>& sums) {
    const Vec<T> w2 = hn::Mul(x.weights, x.weights);
    const Vec<T> p = hn::MulAdd(x.first, x.weights, x.second);
    const Vec<T> r = hn::Sub(x.gradient, p);
    Vec<T> alpha = k.alpha;
    if constexpr (kNormalized) alpha = hn::Div(alpha, hn::Add(k.eps, w2));
    const Vec<T> delta = hn::MulAdd(alpha, w2, k.beta);
    x.first = hn::MulAdd(hn::Mul(alpha, x.weights), r, x.first);
    x.second = hn::MulAdd(k.beta, r, x.second);
    sums.residual(r, x.gradient);
    sums.delta = hn::Max(sums.delta, delta);
    return hn::MulAdd(delta, r, p);
  }
};

/// The same with A = a c^T. Its scalars (c.w before and after, r.a) come from the gather phase;
/// what the next step's gather phase needs is summed up here.
struct RankOne : EstimatorTraits {
  static constexpr int kStates = 3;
  static constexpr bool kSums = true;
  static constexpr bool kAfter = true;
  static constexpr bool kHashes = true;
  template <class T>
  static HWY_INLINE Vec<T> estimate(Values<T>& x, const Constants<T>& k, Sums<T>& sums) {
    const Vec<T> p = hn::MulAdd(x.first, k.s_before, x.second);
    const Vec<T> r = hn::Sub(x.gradient, p);
    x.first = hn::MulAdd(k.a_step, r, x.first);
    x.third = hn::MulAdd(k.c_step, x.weights, x.third);
    x.second = hn::MulAdd(k.beta, r, x.second);
    sums.residual(r, x.gradient);
    return hn::MulAdd(x.first, k.s_after, x.second);
  }
  template <class T>
  static HWY_INLINE void after(const Values<T>& x, Sums<T>& sums) {
    sums.cw = hn::MulAdd(x.third, x.weights, sums.cw);
    sums.ww = hn::MulAdd(x.weights, x.weights, sums.ww);
    sums.aa = hn::MulAdd(x.first, x.first, sums.aa);
    sums.ab = hn::MulAdd(x.first, x.second, sums.ab);
  }
};

// ---- scalings ------------------------------------------------------------------------------

struct NoScaling {
  static constexpr bool kMoment = false;
  template <class T>
  static HWY_INLINE Vec<T> direction(Vec<T> estimate, Values<T>&, const Constants<T>&) {
    return estimate;
  }
};

struct SecondMoment {
  static constexpr bool kMoment = true;
  template <class T>
  static HWY_INLINE Vec<T> direction(Vec<T> estimate, Values<T>& x, const Constants<T>& k) {
    const Vec<T> g2 = hn::Mul(x.gradient, x.gradient);
    x.moment = hn::MulAdd(k.v_take, g2, hn::Mul(k.v_keep, x.moment));
    return hn::Div(estimate, hn::MulAdd(k.v_root, hn::Sqrt(x.moment), k.v_eps));
  }
};

struct Sign {
  static constexpr bool kMoment = false;
  template <class T>
  static HWY_INLINE Vec<T> direction(Vec<T> estimate, Values<T>&, const Constants<T>&) {
    const Tag<T> d;
    const Vec<T> one = hn::CopySign(hn::Set(d, T{1}), estimate);
    return hn::IfThenZeroElse(hn::Eq(estimate, hn::Zero(d)), one);
  }
};

// ---- the loop ------------------------------------------------------------------------------

template <class E, class S, class T>
HWY_INLINE Vec<T> step_values(Values<T>& x, const Constants<T>& k, Sums<T>& sums) {
  x.gradient = hn::MulAdd(k.l2, x.weights, x.gradient);
  const Vec<T> estimate = E::template estimate<T>(x, k, sums);
  const Vec<T> direction = S::template direction<T>(estimate, x, k);
  x.weights = hn::MulAdd(k.minus_lr, direction, hn::Mul(k.shrink, x.weights));
  if constexpr (E::kAfter) E::template after<T>(x, sums);
  if constexpr (E::kHashes) sums.hash.add(x.weights);
  return estimate;
}

template <class E, class S, class T>
void run_pass(const PassStreams<T>& s, const PassScalars<T>& scalars, std::size_t count,
              PassSums* out) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const Constants<T> k(scalars);
  Sums<T> sums;
  const Vec<T> zero = hn::Zero(d);

  const auto visit = [&](auto&& load, auto&& store, std::size_t i) HWY_ATTR {
    Values<T> x{load(s.weights + i), load(s.gradient + i), zero, zero, zero, zero, zero};
    if constexpr (E::kGiven) x.given = load(s.given + i);
    if constexpr (E::kStates > 0) x.first = load(s.first + i);
    if constexpr (E::kStates > 1) x.second = load(s.second + i);
    if constexpr (E::kStates > 2) x.third = load(s.third + i);
    if constexpr (S::kMoment) x.moment = load(s.moment + i);
    const Vec<T> estimate = step_values<E, S, T>(x, k, sums);
    if (s.estimate != nullptr) store(estimate, s.estimate + i);
    store(x.weights, s.weights + i);
    if constexpr (E::kStates > 0) store(x.first, s.first + i);
    if constexpr (E::kStates > 1) store(x.second, s.second + i);
    if constexpr (E::kStates > 2) store(x.third, s.third + i);
    if constexpr (S::kMoment) store(x.moment, s.moment + i);
  };

  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    visit([d](const T* from) HWY_ATTR { return hn::LoadU(d, from); },
          [d](Vec<T> v, T* to) HWY_ATTR { hn::StoreU(v, d, to); }, i);
  }
  if (i < count) {
    const std::size_t rest = count - i;
    visit([rest](const T* from) HWY_ATTR { return load_part<T>(from, rest); },
          [rest](Vec<T> v, T* to) HWY_ATTR { store_part<T>(v, to, rest); }, i);
  }

  if constexpr (E::kSums) {
    out->residual2 = sum_lanes<T>(sums.residual2);
    out->gradient2 = sum_lanes<T>(sums.gradient2);
    out->delta = max_lanes<T>(sums.delta);
    if constexpr (E::kAfter) {
      out->cw = sum_lanes<T>(sums.cw);
      out->ww = sum_lanes<T>(sums.ww);
      out->aa = sum_lanes<T>(sums.aa);
      out->ab = sum_lanes<T>(sums.ab);
    }
  }
  if constexpr (E::kHashes) out->weights_hash = sums.hash.value();
}

template <class E, class T>
Pass<T> select_scaling(ScalingStage scaling) {
  switch (scaling) {
    case ScalingStage::none:
      return &run_pass<E, NoScaling, T>;
    case ScalingStage::second_moment:
      return &run_pass<E, SecondMoment, T>;
    case ScalingStage::sign:
      return &run_pass<E, Sign, T>;
  }
  return nullptr;
}

template <class T>
Pass<T> select_pass(EstimatorStage estimator, ScalingStage scaling) {
  switch (estimator) {
    case EstimatorStage::identity:
      return select_scaling<Identity, T>(scaling);
    case EstimatorStage::average:
      return select_scaling<Average, T>(scaling);
    case EstimatorStage::diagonal:
      return select_scaling<Diagonal<false>, T>(scaling);
    case EstimatorStage::diagonal_normalized:
      return select_scaling<Diagonal<true>, T>(scaling);
    case EstimatorStage::rank_one:
      return select_scaling<RankOne, T>(scaling);
    case EstimatorStage::given:
      return select_scaling<Given, T>(scaling);
  }
  return nullptr;
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
