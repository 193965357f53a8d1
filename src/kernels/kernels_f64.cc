// SPDX-License-Identifier: MIT
// The table of kernels over double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/kernels_f64.cc"
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set
// after it:
#include "kernels/table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {
const Kernels<double>* table_f64() { return table<double>(); }
}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(table_f64);

template <>
const Kernels<double>& kernels<double>() {
  return *HWY_DYNAMIC_DISPATCH(table_f64)();
}
}  // namespace tandem::kernels
#endif
