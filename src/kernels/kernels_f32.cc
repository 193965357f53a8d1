// SPDX-License-Identifier: MIT
// The table of kernels over float.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/kernels_f32.cc"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set
// after it:
#include "kernels/table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {
const Kernels<float>* table_f32() { return table<float>(); }
}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(table_f32);

template <>
const Kernels<float>& kernels<float>() {
  return *HWY_DYNAMIC_DISPATCH(table_f32)();
}
}  // namespace tandem::kernels
#endif
