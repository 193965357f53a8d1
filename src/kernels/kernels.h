// SPDX-License-Identifier: MIT
// All loops over raw memory, as one table of functions for float and one for double, compiled for
// every instruction set and picked once at run time. None of them allocates, throws or starts
// threads.
//
// Contract of sums: lanes of T inside blocks of kBlock elements, double across blocks, in an order
// that depends on the lengths alone. Relative to the sum of absolute values the error is below
// kBlock / lanes * eps(T) in the worst case, a few eps(T) in practice; the tests hold them to 64
// eps.
#pragma once

#include "kernels/pass.h"

#include <cstddef>
#include <cstdint>

namespace tandem::kernels {

/// What RO-TO's gather phase reads off gradient and weights.
struct RankOneGather {
  double ga = 0;  // (g + l2 w).a
  std::uint64_t weights_hash = 0;
};

/// How a block of Full-TO's or Block-TO's matrix learns.
template <class T>
struct BlockRates {
  T alpha = 0;
  T beta = 0;
  T delta = 0;
};

/// Rows of a history that are read at once.
constexpr std::size_t kHistoryRows = 8;

/// Of some samples of one member.
struct SoftmaxLoss {
  double loss = 0;          // the sum of cross entropies
  std::size_t correct = 0;  // samples whose class is the first with the largest logit
};

/// Features of samples are told apart in blocks of so many.
constexpr std::size_t kFeatureBlock = 4;

/// The values of some samples that are not zero, in the order of samples and in that of features.
/// Blocks of features that no sample has are left out; a place is a feature of a block that was
/// kept, counted from 0.
template <class T>
struct SparseSamples {
  std::size_t samples = 0;
  std::size_t features = 0;
  std::size_t blocks = 0;
  const std::uint32_t* block_features = nullptr;  // the first feature of each block, ascending

  // Sample n has the values sample_begin[n] to sample_begin[n + 1], ascending by place.
  const std::uint32_t* sample_begin = nullptr;
  const std::uint32_t* places = nullptr;
  const T* place_values = nullptr;

  // Place p has the values place_begin[p] to place_begin[p + 1], ascending by sample. For
  // sparse_spread alone.
  const std::uint32_t* place_begin = nullptr;
  const std::uint32_t* samples_of = nullptr;
  const T* sample_values = nullptr;
};

template <class T>
struct Kernels {
  const char* target;  // the instruction set, such as "AVX2"

  /// The pass of two stages.
  Pass<T> (*pass)(EstimatorStage, ScalingStage);

  // ---- vectors
  double (*dot)(const T* x, const T* y, std::size_t count);
  /// The index of the first NaN or infinity, `count` if there is none.
  std::size_t (*first_nonfinite)(const T* x, std::size_t count);
  /// Depends on every bit and its place; the same as PassSums::weights_hash for ranges of at most
  /// kBlock.
  std::uint64_t (*hash)(const T* x, std::size_t count);
  void (*scale)(T* x, std::size_t count, T factor);
  void (*clamp)(T* x, std::size_t count, T low, T high);
  /// out = y + factor x.
  void (*add_scaled)(const T* y, const T* x, std::size_t count, T factor, T* out);

  // ---- RO-TO, ranges of at most kBlock
  RankOneGather (*rank_one_gather)(const T* w, const T* g, const T* a, T l2, std::size_t count);
  /// c.w, |w|^2, |a|^2, a.b and the hash of w, from nothing.
  void (*rank_one_sums)(const T* w, const T* a, const T* b, const T* c, std::size_t count,
                        PassSums* sums);

  // ---- a matrix A with `columns` columns, row by row, rows `stride` apart
  /// out[i] = A_i.w for the first `rows` rows.
  void (*matrix_vector)(const T* matrix, std::size_t stride, const T* w, std::size_t rows,
                        std::size_t columns, T* out);
  /// A[i][j] += sum over k of u[k][i] v[k][j]: the delayed updates. `scratch` holds
  /// rank_update_scratch(rank) values.
  void (*rank_update)(T* matrix, std::size_t stride, std::size_t rows, std::size_t columns,
                      const T* const* u, const T* const* v, std::size_t rank, T* scratch);
  /// For each row: predicts p = A_i.w + b_i, corrects A_i and b_i by r = g_i - p at once, and gives
  /// G_i = p + delta r.
  void (*learn_rows)(T* matrix, std::size_t stride, const T* w, const T* g, T* b, T* estimate,
                     std::size_t rows, std::size_t columns, const BlockRates<T>& rates,
                     PassSums* sums);
  /// The same where p (without b, which may be null) was computed before: `step` = alpha r, and G
  /// goes over p. At most kBlock; `step` may be `g`.
  void (*learn_vector)(T* p, const T* g, T* b, T* step, std::size_t count,
                       const BlockRates<T>& rates, PassSums* sums);

  // ---- a history of vectors, one column range of at most kBlock; best kHistoryRows at a time
  /// out += sum over k of c[k] rows[k] (out may be null), dots[k] = rows[k].x (x may be null), in
  /// one read of the rows.
  void (*history)(const T* const* rows, std::size_t first_column, std::size_t row_count,
                  std::size_t columns, const T* c, T* out, const T* x, double* dots);

  // ---- populations
  /// Columns of a packed panel.
  std::size_t (*panel_width)();
  /// C = A B, with A[i][k] at a[i * a_row + k * a_step] and B packed. Bits of an element depend on
  /// its row and column alone.
  void (*product)(std::size_t rows, std::size_t columns, std::size_t depth, const T* a,
                  std::size_t a_row, std::size_t a_step, const T* packed, T* c, std::size_t c_row);
  /// Packs B from its `depth` rows; the last panel is filled up with zeros. Room: packed_size.
  void (*pack)(const T* const* rows, std::size_t depth, std::size_t columns, T* packed);
  /// Packs B from its `count` columns, each of `depth` values.
  void (*pack_transposed)(const T* const* columns, std::size_t count, std::size_t depth, T* packed);
  /// c[i][n] = a_i . x_n for all samples, with the bits of `product`.
  void (*sparse_product)(std::size_t rows, const T* a, std::size_t a_row, const SparseSamples<T>& x,
                         T* c, std::size_t c_row, T* scratch);
  /// c_i = sum over n of a[i][n] x_n, all features, with the bits of `product`.
  void (*sparse_spread)(std::size_t rows, const T* a, std::size_t a_row, const SparseSamples<T>& x,
                        T* c, std::size_t c_row, T* scratch);
  /// How many values these two need as scratch.
  std::size_t (*sparse_scratch)(std::size_t rows, const SparseSamples<T>& x);
  /// logits (a row a class, `row` apart; a column a sample) become scale (softmax - one-hot label).
  /// Returns the sum over samples of the largest logit less the label's: below the cross entropy by
  /// at most log(classes), and not finite when logits are not.
  double (*softmax_gradient)(T* logits, std::size_t row, std::size_t classes,
                             const std::uint32_t* labels, std::size_t samples, T scale);
  SoftmaxLoss (*softmax_loss)(const T* logits, std::size_t row, std::size_t classes,
                              const std::uint32_t* labels, std::size_t samples);
  /// The same for L = -log softmax(softmax(logits))_label. Returns the sum over samples of 1 less
  /// the label's probability, which is at most the number of samples, or NaN when a logit is not
  /// finite.
  double (*double_softmax_gradient)(T* logits, std::size_t row, std::size_t classes,
                                    const std::uint32_t* labels, std::size_t samples, T scale);
  SoftmaxLoss (*double_softmax_loss)(const T* logits, std::size_t row, std::size_t classes,
                                     const std::uint32_t* labels, std::size_t samples);
};

/// How many values a packed B takes.
template <class T>
std::size_t packed_size(const Kernels<T>& kernels, std::size_t depth, std::size_t columns) {
  const std::size_t width = kernels.panel_width();
  return depth * ((columns + width - 1) / width * width);
}

/// How many values rank_update needs as scratch.
constexpr std::size_t rank_update_scratch(std::size_t rank) { return rank * (512 + 16); }

/// The table for this CPU.
template <class T>
const Kernels<T>& kernels();
template <>
const Kernels<float>& kernels<float>();
template <>
const Kernels<double>& kernels<double>();

}  // namespace tandem::kernels
