// SPDX-License-Identifier: MIT
// The floating-point environment in which all steps run: denormal numbers count as zero, results
// are rounded to nearest, no exception traps. A processor takes tens of times longer for a
// denormal number, and state that decays, such as Adam's averages of weights whose gradients stay
// zero, is full of them after some hundred steps.
//
// Every piece of work enters this environment on the thread that runs it, so that no bit depends
// on the number of threads or on what the caller has set.
#pragma once

#include <cstdint>

namespace tandem {

/// What a thread's processor is set to: rounding, flushing, traps, and the exceptions seen so far.
/// Where we do not know how to set it, it is always zero.
struct FloatEnvironment {
  std::uint64_t control = 0;
  std::uint64_t status = 0;
  bool operator==(const FloatEnvironment&) const = default;
};
FloatEnvironment float_environment() noexcept;
void set_float_environment(const FloatEnvironment& environment) noexcept;

/// While it exists, this thread computes as described above; afterwards everything is as it was,
/// the flags of exceptions as well. Scopes inside one another cost next to nothing.
class FlushDenormals {
 public:
  FlushDenormals() noexcept;
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  friend class CallersFloatEnvironment;
  FloatEnvironment callers_;
  bool outermost_;
};

/// Inside of FlushDenormals, for calls of code that is not ours: as it was outside. A thread begins
/// with the environment of the thread that starts it, so a pool that is started in the middle of a
/// step would flush denormals for everybody who uses it, for ever.
class CallersFloatEnvironment {
 public:
  CallersFloatEnvironment() noexcept;
  ~CallersFloatEnvironment();
  CallersFloatEnvironment(const CallersFloatEnvironment&) = delete;
  CallersFloatEnvironment& operator=(const CallersFloatEnvironment&) = delete;

 private:
  const FlushDenormals* inside_;
};

}  // namespace tandem
