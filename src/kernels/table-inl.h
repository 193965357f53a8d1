// SPDX-License-Identifier: MIT
// Puts the loops of one instruction set into a table.
#include "kernels/kernels.h"

#if defined(TANDEM_KERNELS_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_TABLE_INL_H_
#undef TANDEM_KERNELS_TABLE_INL_H_
#else
#define TANDEM_KERNELS_TABLE_INL_H_
#endif

#include "kernels/gemm-inl.h"
#include "kernels/matrix-inl.h"
#include "kernels/pass-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/sparse-inl.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {

template <class T>
const Kernels<T>* table() {
  static const Kernels<T> kTable = {
      .target = hwy::TargetName(HWY_TARGET),
      .pass = &select_pass<T>,
      .dot = &dot<T>,
      .first_nonfinite = &first_nonfinite<T>,
      .hash = &hash<T>,
      .scale = &scale<T>,
      .clamp = &clamp<T>,
      .add_scaled = &add_scaled<T>,
      .rank_one_gather = &rank_one_gather<T>,
      .rank_one_sums = &rank_one_sums<T>,
      .matrix_vector = &matrix_vector<T>,
      .rank_update = &rank_update<T>,
      .learn_rows = &learn_rows<T>,
      .learn_vector = &learn_vector<T>,
      .history = &history<T>,
      .panel_width = &panel_width<T>,
      .product = &product<T>,
      .pack = &pack<T>,
      .pack_transposed = &pack_transposed<T>,
      .sparse_product = &sparse_product<T>,
      .sparse_spread = &sparse_spread<T>,
      .sparse_scratch = &sparse_scratch<T>,
      .softmax_gradient = &softmax_gradient<T>,
      .softmax_loss = &softmax_loss<T>,
      .double_softmax_gradient = &double_softmax_gradient<T>,
      .double_softmax_loss = &double_softmax_loss<T>,
  };
  return &kTable;
}

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
