// SPDX-License-Identifier: MIT
// The softmax of a member's logits, the gradient of its cross entropy, and both for cross entropy of
// a softmax that was taken twice; a vector of samples at a time. Included once for each instruction
// set.
#include "kernels/kernels.h"

#if defined(TANDEM_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_SOFTMAX_INL_H_
#undef TANDEM_KERNELS_SOFTMAX_INL_H_
#else
#define TANDEM_KERNELS_SOFTMAX_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include "kernels/common-inl.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

// For a vector of samples, whose first logits are at `logits` and whose classes are `row` apart.

/// The largest logit of each. `bad` becomes 0, or NaN where a logit is not finite: Max and Exp hide
/// it.
template <class T, class Load>
HWY_INLINE Vec<T> largest_logits(const Load& load, const T* logits, std::size_t row,
                                 std::size_t classes, Vec<T>& bad) {
  Vec<T> largest = load(logits);
  bad = hn::Sub(largest, largest);
  for (std::size_t c = 1; c < classes; ++c) {
    const Vec<T> logit = load(logits + c * row);
    largest = hn::Max(largest, logit);
    bad = hn::Add(bad, hn::Sub(logit, logit));
  }
  return largest;
}

template <class T, class Load>
HWY_INLINE Vec<T> sum_of_exponentials(const Load& load, const T* logits, std::size_t row,
                                      std::size_t classes, Vec<T> largest) {
  const Tag<T> d;
  Vec<T> sum = hn::Zero(d);
  for (std::size_t c = 0; c < classes; ++c) {
    sum = hn::Add(sum, hn::Exp(d, hn::Sub(load(logits + c * row), largest)));
  }
  return sum;
}

/// The same, and stores them in the place of the logits.
template <class T, class Load, class Store>
HWY_INLINE Vec<T> exponentials(const Load& load, const Store& store, T* logits, std::size_t row,
                               std::size_t classes, Vec<T> largest) {
  const Tag<T> d;
  Vec<T> sum = hn::Zero(d);
  for (std::size_t c = 0; c < classes; ++c) {
    const Vec<T> e = hn::Exp(d, hn::Sub(load(logits + c * row), largest));
    sum = hn::Add(sum, e);
    store(e, logits + c * row);
  }
  return sum;
}

template <class T>
double softmax_gradient(T* logits, std::size_t row, std::size_t classes,
                        const std::uint32_t* labels, std::size_t samples, T scale) {
  const Tag<T> d;
  double shortfall = 0;
  for (std::size_t n = 0; n < samples; ++n) shortfall -= logits[labels[n] * row + n];
  Vec<T> largest_sum = hn::Zero(d);
  const Vec<T> factor = hn::Set(d, scale);
  for_vectors<T>(samples, [&](std::size_t n, auto&& load, auto&& store) HWY_ATTR {
    Vec<T> bad = hn::Zero(d);
    const Vec<T> largest = largest_logits<T>(load, logits + n, row, classes, bad);
    const Vec<T> sum = exponentials<T>(load, store, logits + n, row, classes, largest);
    const Vec<T> each = hn::Div(factor, sum);
    for (std::size_t c = 0; c < classes; ++c) {
      store(hn::Mul(load(logits + c * row + n), each), logits + c * row + n);
    }
    largest_sum = hn::Add(largest_sum, hn::Add(largest, bad));
  });
  for (std::size_t n = 0; n < samples; ++n) logits[labels[n] * row + n] -= scale;
  return shortfall + sum_lanes<T>(largest_sum);
}

template <class T>
SoftmaxLoss softmax_loss(const T* logits, std::size_t row, std::size_t classes,
                         const std::uint32_t* labels, std::size_t samples) {
  const Tag<T> d;
  SoftmaxLoss result;
  Vec<T> logs = hn::Zero(d);
  HWY_ALIGN T maxima[hn::MaxLanes(Tag<T>())];
  for_vectors<T>(samples, [&](std::size_t n, auto&& load, auto&&) HWY_ATTR {
    Vec<T> bad = hn::Zero(d);
    const Vec<T> largest = largest_logits<T>(load, logits + n, row, classes, bad);
    const Vec<T> sum = sum_of_exponentials<T>(load, logits + n, row, classes, largest);
    // Lanes behind the end hold zeros: their log is of `classes`, and must not count.
    const std::size_t count = std::min(hn::Lanes(d), samples - n);
    const Vec<T> log = hn::Add(hn::Log(d, sum), bad);
    logs = hn::Add(logs, hn::IfThenElseZero(hn::FirstN(d, count), log));
    hn::Store(largest, d, maxima);
    for (std::size_t i = 0; i < count; ++i) {
      const T own = logits[labels[n + i] * row + n + i];
      result.loss += static_cast<double>(maxima[i]) - static_cast<double>(own);
      // Of classes with the same logit the first is the model's answer.
      bool correct = own == maxima[i];
      for (std::size_t c = 0; correct && c < labels[n + i]; ++c) {
        correct = logits[c * row + n + i] != maxima[i];
      }
      result.correct += correct ? 1 : 0;
    }
  });
  result.loss += sum_lanes<T>(logs);
  return result;
}

/// The label's row of some samples' values, a vector of them.
template <class T>
HWY_INLINE Vec<T> at_labels(const T* values, std::size_t row, const std::uint32_t* labels,
                            std::size_t count) {
  HWY_ALIGN T own[hn::MaxLanes(Tag<T>())] = {};
  for (std::size_t i = 0; i < count; ++i) own[i] = values[labels[i] * row + i];
  return hn::Load(Tag<T>(), own);
}

// With p = softmax(z) and q = softmax(p): L = log sum exp(p) - p_y, dL/dp = q - e_y and
// dL/dz = p (dL/dp - p . dL/dp). No p is above 1, so that the second softmax needs no shift.
template <class T>
double double_softmax_gradient(T* logits, std::size_t row, std::size_t classes,
                               const std::uint32_t* labels, std::size_t samples, T scale) {
  const Tag<T> d;
  Vec<T> shortfall = hn::Zero(d);
  const Vec<T> one = hn::Set(d, T{1});
  const Vec<T> factor = hn::Set(d, scale);
  for_vectors<T>(samples, [&](std::size_t n, auto&& load, auto&& store) HWY_ATTR {
    const std::size_t count = std::min(hn::Lanes(d), samples - n);
    Vec<T> bad = hn::Zero(d);
    const Vec<T> largest = largest_logits<T>(load, logits + n, row, classes, bad);
    const Vec<T> sum = exponentials<T>(load, store, logits + n, row, classes, largest);
    const Vec<T> each = hn::Div(one, sum);
    Vec<T> again = hn::Zero(d);     // sum of exp(p)
    Vec<T> weighted = hn::Zero(d);  // sum of p exp(p)
    for (std::size_t c = 0; c < classes; ++c) {
      const Vec<T> p = hn::Mul(load(logits + c * row + n), each);
      const Vec<T> e = hn::Exp(d, p);
      again = hn::Add(again, e);
      weighted = hn::MulAdd(p, e, weighted);
      store(p, logits + c * row + n);
    }
    const Vec<T> inverse = hn::Div(one, again);
    const Vec<T> own = at_labels(logits + n, row, labels + n, count);
    // What every class has in common: p_y - p . q.
    const Vec<T> common = hn::NegMulAdd(weighted, inverse, own);
    for (std::size_t c = 0; c < classes; ++c) {
      const Vec<T> p = load(logits + c * row + n);
      const Vec<T> slope = hn::MulAdd(hn::Exp(d, p), inverse, common);
      store(hn::Mul(hn::Mul(p, factor), slope), logits + c * row + n);
    }
    HWY_ALIGN T label_share[hn::MaxLanes(Tag<T>())];
    hn::Store(hn::Mul(own, factor), d, label_share);
    for (std::size_t i = 0; i < count; ++i) logits[labels[n + i] * row + n + i] -= label_share[i];
    // Lanes behind the end hold other things.
    shortfall = hn::Add(shortfall,
                        hn::IfThenElseZero(hn::FirstN(d, count), hn::Add(hn::Sub(one, own), bad)));
  });
  return sum_lanes<T>(shortfall);
}

template <class T>
SoftmaxLoss double_softmax_loss(const T* logits, std::size_t row, std::size_t classes,
                                const std::uint32_t* labels, std::size_t samples) {
  const Tag<T> d;
  SoftmaxLoss result;
  Vec<T> total = hn::Zero(d);
  for_vectors<T>(samples, [&](std::size_t n, auto&& load, auto&&) HWY_ATTR {
    const std::size_t count = std::min(hn::Lanes(d), samples - n);
    Vec<T> bad = hn::Zero(d);
    const Vec<T> largest = largest_logits<T>(load, logits + n, row, classes, bad);
    const Vec<T> sum = sum_of_exponentials<T>(load, logits + n, row, classes, largest);
    const Vec<T> each = hn::Div(hn::Set(d, T{1}), sum);
    HWY_ALIGN T lane_labels[hn::MaxLanes(Tag<T>())] = {};
    for (std::size_t i = 0; i < count; ++i) lane_labels[i] = static_cast<T>(labels[n + i]);
    const Vec<T> label = hn::Load(d, lane_labels);
    Vec<T> again = hn::Zero(d);
    Vec<T> own = hn::Zero(d);
    // Of classes with the same logit the first is the model's answer.
    auto answered = hn::Lt(label, hn::Zero(d));
    auto correct = answered;
    for (std::size_t c = 0; c < classes; ++c) {
      const Vec<T> logit = load(logits + c * row + n);
      const Vec<T> p = hn::Mul(hn::Exp(d, hn::Sub(logit, largest)), each);
      again = hn::Add(again, hn::Exp(d, p));
      const auto is_label = hn::Eq(label, hn::Set(d, static_cast<T>(c)));
      own = hn::IfThenElse(is_label, p, own);
      const auto answer = hn::AndNot(answered, hn::Eq(logit, largest));
      correct = hn::Or(correct, hn::And(answer, is_label));
      answered = hn::Or(answered, answer);
    }
    const auto counted = hn::FirstN(d, count);
    const Vec<T> loss = hn::Add(hn::Sub(hn::Log(d, again), own), bad);
    total = hn::Add(total, hn::IfThenElseZero(counted, loss));
    result.correct += hn::CountTrue(d, hn::And(counted, correct));
  });
  result.loss = sum_lanes<T>(total);
  return result;
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
