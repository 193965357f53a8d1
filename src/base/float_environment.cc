// SPDX-License-Identifier: MIT
// None of these is inline: a compiler that does not know of the environment could otherwise move
// arithmetic across the change.
#include "base/float_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tandem {
namespace {

#if defined(__x86_64__)
// MXCSR: flush to zero (bit 15), all exceptions masked (12 to 7), denormals are zeros (6); rounding
// to nearest and no flags are zeros.
constexpr FloatEnvironment kOurs{0x8000U | 0x1f80U | 0x0040U, 0};
#elif defined(__aarch64__)
// FPCR: flush to zero (bit 24), inputs as well as results; everything else at its default.
constexpr FloatEnvironment kOurs{std::uint64_t{1} << 24, 0};
#else
constexpr FloatEnvironment kOurs{};
#endif

// The outermost scope of this thread.
thread_local const FlushDenormals* current = nullptr;

}  // namespace

FloatEnvironment float_environment() noexcept {
#if defined(__x86_64__)
  return {_mm_getcsr(), 0};
#elif defined(__aarch64__)
  FloatEnvironment now;
  asm volatile("mrs %0, fpcr" : "=r"(now.control));
  asm volatile("mrs %0, fpsr" : "=r"(now.status));
  return now;
#else
  return {};
#endif
}

void set_float_environment([[maybe_unused]] const FloatEnvironment& environment) noexcept {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(environment.control));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(environment.control));
  asm volatile("msr fpsr, %0" : : "r"(environment.status));
#endif
}

FlushDenormals::FlushDenormals() noexcept : outermost_(current == nullptr) {
  if (!outermost_) return;
  callers_ = float_environment();
  current = this;
  set_float_environment(kOurs);
}

FlushDenormals::~FlushDenormals() {
  if (!outermost_) return;
  current = nullptr;
  set_float_environment(callers_);
}

CallersFloatEnvironment::CallersFloatEnvironment() noexcept : inside_(current) {
  if (inside_ == nullptr) return;
  current = nullptr;
  set_float_environment(inside_->callers_);
}

CallersFloatEnvironment::~CallersFloatEnvironment() {
  if (inside_ == nullptr) return;
  current = inside_;
  set_float_environment(kOurs);
}

}  // namespace tandem
