// SPDX-License-Identifier: MIT
// One step of a rule in one type: check the gradient, gather, the fused pass, the projection.
#pragma once

#include <tandem/optimizer.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/state_stream.h"
#include "kernels/kernels.h"
#include "optimizers/estimator.h"
#include "optimizers/layout.h"
#include "optimizers/recipe.h"

namespace tandem {

template <class T>
class Engine {
 public:
  /// The recipe and the layout outlive the engine.
  Engine(const detail::Recipe& recipe, const Layout& layout, StateOwner owner);

  /// Everything of a step that can fail, without the look at the gradient: checks the rates, and
  /// allocates. Changes neither weights nor state.
  void prepare(std::span<const Segment<T>> segments, const Clock& clock, Executor& executor);
  void prepare(std::span<const Segment<BFloat16>> segments, const Clock& clock, Executor& executor);

  /// A step in two phases. The first looks at weights and gradient and changes nothing. The second
  /// takes the sums, to which those of other machines may have been added; it prepares by itself. False
  /// if the step was skipped. Whatever it throws, weights and state are as they were.
  GatheredSums gather(std::span<const Segment<T>> segments, const Clock& clock, Executor& executor);
  bool apply(std::span<const Segment<T>> segments, const GatheredSums& totals, const Clock& clock,
             Executor& executor);
  /// The same on bfloat16 weights: elementwise rules widen a block at a time, in the cache; the
  /// others all of it, into a workspace, from gather to apply. Of Engine<float> only.
  GatheredSums gather(std::span<const Segment<BFloat16>> segments, const Clock& clock,
                      Executor& executor);
  bool apply(std::span<const Segment<BFloat16>> segments, const GatheredSums& totals,
             const Rounding& rounding, const Clock& clock, Executor& executor);

  Estimator<T>& estimator() { return *estimator_; }
  const Estimator<T>& estimator() const { return *estimator_; }
  std::size_t state_bytes() const { return estimator_->state_bytes() + moment_.bytes(); }
  std::size_t workspace_bytes() const {
    return estimator_->workspace_bytes() + estimate_.bytes() +
           sums_.size() * sizeof(kernels::PassSums) + squares_.size() * sizeof(double) +
           wide_weights_.bytes() + wide_gradient_.bytes();
  }
  /// Keeps G of each step from now on, or no longer.
  void keep_estimate(bool keep) {
    if (keep != !estimate_.empty()) estimate_ = Buffer<T>(keep ? layout_.dimension() : 0);
  }
  std::span<const T> estimate() const { return estimate_.span(); }
  /// Shows what is remembered; see Estimator.
  void scalars(StateVisitor& visitor) { estimator_->scalars(visitor); }
  void arrays(StateVisitor& visitor);
  /// Fills arrays that are new with starting values.
  void start();
  void save(StateWriter& writer) const;
  void load(StateReader& reader);

 private:
  Step<T> step_at(std::span<const Segment<T>> segments, const Clock& clock,
                  Executor& executor) const;
  /// Whether the gradient has no NaN and no infinity; otherwise remembers where the first one is.
  /// `look(block)` gives its index in a block, or the block's count.
  template <class Look>
  bool finite(const Step<T>& step, const Look& look);
  bool finite(const Step<T>& step);
  /// False where the step is to be skipped; throws NonFiniteGradient. `value(segment, index)` is one
  /// element of the gradient.
  template <class Value>
  bool accept(const Step<T>& step, const GatheredSums& totals, const Value& value) const;
  void scale_stage(const Step<T>& step, kernels::PassScalars<T>& scalars) const;
  /// `reach(block, use)` calls use(weights, gradient) with the block's memory, or not where it is
  /// left out; `together` is how many blocks it can reach at once.
  template <class Reach>
  void run_pass(const Step<T>& step, const kernels::PassScalars<T>& common, std::size_t together,
                const Reach& reach);
  /// The number of a block's first element among all weights of the model: what noise depends on.
  std::uint64_t first_element(const Layout::Block& block) const;
  /// Rounds a block of weights.
  void narrow_block(const float* from, const Layout::Block& block, BFloat16* to,
                    const Rounding& rounding, const Clock& clock) const;
  /// Whether a step on bfloat16 weights can widen them a block at a time.
  bool elementwise() const;
  void prepare(const Step<T>& step);
  /// Fills rates_; throws NonFiniteRate.
  void read_rates(const Step<T>& step);
  /// Throws NonFiniteRate for a value that T cannot hold; `what` says where it comes from.
  void require_finite(const Step<T>& step, double value, const std::string& what) const;
  /// Copies of bfloat16 weights and gradients as float, with room for them.
  std::span<const Segment<float>> widen(std::span<const Segment<BFloat16>> segments,
                                        const Clock& clock, Executor& executor);
  bool apply_elementwise(std::span<const Segment<BFloat16>> segments, const GatheredSums& totals,
                         const Rounding& rounding, const Clock& clock, Executor& executor);
  bool apply_widened(std::span<const Segment<BFloat16>> segments, const GatheredSums& totals,
                     const Rounding& rounding, const Clock& clock, Executor& executor);
  void project(const Step<T>& step, Outcome& outcome);
  template <class Body>
  void for_blocks(const Step<T>& step, const Body& body) const;

  const kernels::Kernels<T>& kernels_ = kernels::kernels<T>();
  const detail::Recipe& recipe_;
  const Layout& layout_;
  std::unique_ptr<Estimator<T>> estimator_;
  kernels::Pass<T> pass_;
  kernels::NarrowPass narrow_pass_ = nullptr;     // where state is kept in bfloat16
  ElementState<T> moment_;                        // second moment, where the scaling has one
  Buffer<T> estimate_;                            // G of the last step, where it is kept
  Buffer<T> wide_weights_, wide_gradient_;        // of bfloat16 ones, where a rule needs them whole
  std::vector<Segment<float>> wide_;              // the same as segments
  std::vector<kernels::PassSums> sums_;           // a block each
  std::vector<double> squares_;                   // a block each, for a ball
  std::vector<kernels::PassScalars<T>> scalars_;  // a segment each
  struct Rates {
    T lr;
    T shrink;
  };
  std::vector<Rates> rates_;                      // a segment each, of the step under way
  std::vector<kernels::PassStreams<T>> streams_;  // the same
  std::vector<kernels::NarrowStreams> narrow_streams_;
  std::size_t first_bad_ = 0;  // where gather found what is not finite
};

}  // namespace tandem
