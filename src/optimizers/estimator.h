// SPDX-License-Identifier: MIT
// What turns a stochastic gradient into an estimate of the full one. The elementwise part of an
// estimator is a stage of the fused pass; what needs to see all segments first happens in its
// gather phase.
#pragma once

#include <tandem/executor.h>
#include <tandem/optimizer.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>

#include "base/buffer.h"
#include "base/state_stream.h"
#include "kernels/narrow_pass.h"
#include "kernels/pass.h"
#include "optimizers/layout.h"
#include "optimizers/recipe.h"
#include "optimizers/state_array.h"

namespace tandem {

/// Whether a step passes a segment by.
template <class T>
bool left_out(const Segment<T>& segment) {
  return segment.gradient.empty();
}

/// What an estimator may know of a step.
template <class T>
struct Step {
  std::span<const Segment<T>> segments;
  const Layout& layout;
  Executor& executor;
  Clock clock;
  double rate_factor;  // decay^epoch
  double l2;
  // The update w' = shrink w - lr D; means something only where all segments have the same.
  double lr;
  double shrink;
};

/// What became of a step.
struct Outcome {
  std::span<const kernels::PassSums> sums;  // a block each, from trainable stages
  double scaled = 1;                        // a ball projection multiplied the weights by this
  bool boxed = false;                       // a box projection may have changed them
};

template <class T>
class Estimator {
 public:
  virtual ~Estimator() = default;

  virtual kernels::EstimatorStage stage() const = 0;
  /// Looks at weights and gradient without changing anything that is remembered: fills the sums that
  /// the step needs, and tells whether it can vouch that all of the gradient is finite.
  virtual bool gather(const Step<T>&, GatheredSums&) { return false; }
  /// Allocates whatever ready and finish will need, and throws where the step cannot be made;
  /// changes nothing that is remembered. After it a step does not throw.
  virtual void prepare(const Step<T>&) {}
  /// Readies the fused pass: scalars, from sums over all that is stepped on anywhere, or the whole
  /// estimate. Does not allocate.
  virtual void ready(const Step<T>& step, const GatheredSums& totals,
                     kernels::PassScalars<T>& scalars) = 0;
  /// The arrays that the stage reads and writes in a segment; those it does not have are null.
  virtual kernels::PassStreams<T> streams(std::size_t /*segment*/) { return {}; }
  /// The same where they are kept in bfloat16.
  virtual kernels::NarrowStreams narrow_streams(std::size_t /*segment*/) { return {}; }
  /// The whole estimate, all segments in one array, where `ready` computed it: stage `given`.
  virtual const T* estimate() const { return nullptr; }
  /// After the pass and the projection. Does not allocate.
  virtual void finish(const Step<T>&, const Outcome&) {}
  virtual void weights_changed() {}

  virtual const Diagnostics& last() const;
  virtual void set_last(const Diagnostics&) {}
  virtual std::size_t state_bytes() const = 0;
  virtual std::size_t workspace_bytes() const { return 0; }

  /// Shows the numbers that are remembered, and takes those that it is given; arrays() has the parts
  /// that they call for.
  virtual void scalars(StateVisitor&) {}
  /// Shows the arrays that are remembered, as the next step needs them.
  virtual void arrays(StateVisitor&) {}
  /// Fills arrays that are new with starting values.
  virtual void start() {}
  /// For state in the caller's memory: it has been bound; a step on it is done.
  virtual void taken() {}
  virtual void give_back() {}

  /// Scalars and arrays, unless a file has them in another way.
  virtual void save(StateWriter& writer) const;
  /// Fills a new estimator; on an error it is thrown away.
  virtual void load(StateReader& reader);
};

/// The common idea of the paper's algorithms: predict p = A w + b, look at the residual r = g - p,
/// take a step of gradient descent on |r|^2 / 2 in A and b, and predict again. Where A's step is
/// alpha r w^T, that is G = p + delta r with delta = alpha |w|^2 + beta. The structures differ in
/// what A can hold and in which w it multiplies.
template <class T>
class TrainableEstimator : public Estimator<T> {
 public:
  explicit TrainableEstimator(const detail::TrainableSpec& spec) : spec_(spec) {}

  const Diagnostics& last() const override { return last_; }
  void set_last(const Diagnostics& last) override { last_ = last; }

 protected:
  struct Rates {
    double alpha;
    double beta;
  };
  Rates rates(const Step<T>& step) const;
  /// The rates on a part of the weights with this |w|^2, normalised if asked for, and its delta.
  struct Gain {
    double alpha;
    double beta;
    double delta;
  };
  Gain gain(const Step<T>& step, double ww) const;
  void set_norms(double residual2, double gradient2);

  const detail::TrainableSpec& spec() const { return spec_; }
  bool normalize() const { return spec_.normalize; }

  Diagnostics last_;

 private:
  const detail::TrainableSpec& spec_;  // lives in the recipe, which outlives the estimator
};

/// The weights, or the gradient with l2 w added, of all segments in one array.
template <class T>
void flatten_weights(const Step<T>& step, T* out);
template <class T>
void flatten_gradient(const Step<T>& step, T* out);

template <class T>
std::unique_ptr<Estimator<T>> make_estimator(const detail::Recipe& recipe, const Layout& layout,
                                             StateOwner owner);

template <class T>
std::unique_ptr<Estimator<T>> make_average(const detail::Recipe& recipe, const Layout& layout,
                                           StateOwner owner);
template <class T>
std::unique_ptr<Estimator<T>> make_diagonal(const detail::TrainableSpec& spec, const Layout& layout,
                                            StateOwner owner, const detail::StateStorage& storage);
template <class T>
std::unique_ptr<Estimator<T>> make_rank_one(const detail::TrainableSpec& spec, const Layout& layout,
                                            StateOwner owner);
template <class T>
std::unique_ptr<Estimator<T>> make_block(const detail::TrainableSpec& spec, std::size_t dimension,
                                         std::size_t block, StateOwner owner);

}  // namespace tandem
