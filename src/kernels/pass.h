// SPDX-License-Identifier: MIT
// The fused pass: one sweep over weights, gradient and state that estimates, scales and updates.
// Passes are generated from the stages below, every estimator with every scaling, for every
// instruction set; the right one is picked at run time.
//
// Arithmetic is in the type of the weights. Sums are kept in lanes of that type, and given as
// double a call: call it with at most kBlock elements at a time and add up blocks in double.
// Elementwise results do not depend on how a range is cut.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

/// The number of elements over which lanes of float may be summed.
inline constexpr std::size_t kBlock = 4096;

/// What gives the estimate G of the full gradient.
enum class EstimatorStage {
  identity,             // G = g
  average,              // m' = keep m + take g;  G = out_new m' + out_old m + out_g g
  diagonal,             // Diag-TO
  diagonal_normalized,  // Diag-TO with alpha / (eps + w^2)
  rank_one,             // RO-TO, with the scalars that its gather phase found
  given                 // G was computed before the pass
};

/// Whether a pass fills PassSums, and so may see at most kBlock elements at a time.
constexpr bool sums_up(EstimatorStage stage) {
  return stage == EstimatorStage::diagonal || stage == EstimatorStage::diagonal_normalized ||
         stage == EstimatorStage::rank_one || stage == EstimatorStage::given;
}

/// What turns G into the direction D.
enum class ScalingStage {
  none,           // D = G
  second_moment,  // v' = v_keep v + v_take g^2;  D = G / (v_root sqrt(v') + v_eps)
  sign            // D = sign(G)
};

/// Where a pass reads and writes; what a stage does not use is null.
template <class T>
struct PassStreams {
  T* weights = nullptr;
  const T* gradient = nullptr;
  const T* given = nullptr;
  T* first = nullptr;     // average: m; diagonal, rank-one: a
  T* second = nullptr;    // diagonal, rank-one: b
  T* third = nullptr;     // rank-one: c
  T* moment = nullptr;    // second_moment: v
  T* estimate = nullptr;  // where G goes, if anybody wants it
};

template <class T>
struct PassScalars {
  // update: w' = shrink w - lr D, with g + l2 w in the place of g
  T lr = 0;
  T shrink = 1;
  T l2 = 0;
  // average
  T keep = 0;
  T take = 0;
  T out_new = 1;
  T out_old = 0;
  T out_g = 0;
  // trainable
  T alpha = 0;
  T beta = 0;
  T eps = 0;
  // rank-one: s = c.w before and after the correction of c, and the steps of a and c
  T s_before = 0;
  T s_after = 0;
  T a_step = 0;  // alpha s
  T c_step = 0;  // alpha (r.a)
  // second moment
  T v_keep = 0;
  T v_take = 0;
  T v_root = 1;
  T v_eps = 0;
};

/// What a pass saw; only stages that sum up fill it.
struct PassSums {
  double residual2 = 0;  // |g - p|^2
  double gradient2 = 0;  // |g|^2
  double delta = 0;      // the largest
  // rank-one, all after the step
  double cw = 0;
  double ww = 0;
  double aa = 0;
  double ab = 0;
  // rank-one and given, after the step
  std::uint64_t weights_hash = 0;
};

template <class T>
using Pass = void (*)(const PassStreams<T>&, const PassScalars<T>&, std::size_t count,
                      PassSums* sums);

}  // namespace tandem::kernels
