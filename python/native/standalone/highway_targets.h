// SPDX-License-Identifier: MIT
// Which of Highway's targets this CPU runs, without Highway's library.
#pragma once

#include <hwy/targets.h>

#include <cstdint>

namespace tandem::standalone {

/// The targets that this CPU and its system run, as bits of HWY_TARGETS. Of those that Highway has, the ones
/// that our kernels are compiled for (tandem_settings in cmake/TandemHelpers.cmake) and no others: a target
/// that is not named here is never chosen.
inline std::int64_t detected_targets() {
  std::int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  // What the compiler may use in each of them: HWY_TARGET_STR in hwy/ops/set_macros-inl.h.
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                    __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw");
  if (sse4) targets |= HWY_SSE4;
  if (avx2) targets |= HWY_AVX2;
  if (avx3) targets |= HWY_AVX3;
#endif
  return targets;
}

}  // namespace tandem::standalone
