// SPDX-License-Identifier: MIT
// The softmax of a member's logits and the gradient of its cross entropy, a vector of samples at a
// time. Included once for each instruction set.
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

template <class T>
double softmax_gradient(T* logits, std::size_t row, std::size_t classes,
                        const std::uint32_t* labels, std::size_t samples, T scale) {
  const Tag<T> d;
  double shortfall = 0;
  for (std::size_t n = 0; n < samples; ++n) shortfall -= logits[labels[n] * row + n];
  Vec<T> largest_sum = hn::Zero(d);
  const Vec<T> factor = hn::Set(d, scale);
  for_vectors<T>(samples, [&](std::size_t n, auto&& load, auto&& store) HWY_ATTR {
    const Vec<T> first = load(logits + n);
    Vec<T> largest = first;
    Vec<T> bad =
        hn::Sub(first, first);  // 0, or NaN where a logit is not finite: Max and Exp hide it
    for (std::size_t c = 1; c < classes; ++c) {
      const Vec<T> logit = load(logits + c * row + n);
      largest = hn::Max(largest, logit);
      bad = hn::Add(bad, hn::Sub(logit, logit));
    }
    Vec<T> sum = hn::Zero(d);
    for (std::size_t c = 0; c < classes; ++c) {
      const Vec<T> e = hn::Exp(d, hn::Sub(load(logits + c * row + n), largest));
      sum = hn::Add(sum, e);
      store(e, logits + c * row + n);
    }
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
    const Vec<T> first = load(logits + n);
    Vec<T> largest = first;
    Vec<T> bad =
        hn::Sub(first, first);  // 0, or NaN where a logit is not finite: Max and Exp hide it
    for (std::size_t c = 1; c < classes; ++c) {
      const Vec<T> logit = load(logits + c * row + n);
      largest = hn::Max(largest, logit);
      bad = hn::Add(bad, hn::Sub(logit, logit));
    }
    Vec<T> sum = hn::Zero(d);
    for (std::size_t c = 0; c < classes; ++c) {
      sum = hn::Add(sum, hn::Exp(d, hn::Sub(load(logits + c * row + n), largest)));
    }
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

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
