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
#include "kernels/pass.h"
#include "optimizers/layout.h"
#include "optimizers/recipe.h"

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
  /// Looks at the gradient without changing anything; true if it can vouch that all of it is
  /// finite.
  virtual bool screen(const Step<T>&) { return false; }
  /// Allocates whatever gather and finish will need, and throws where the step cannot be made;
  /// changes nothing that save() writes. After it a step does not throw.
  virtual void prepare(const Step<T>&) {}
  /// Readies the fused pass: scalars that need all segments, or the whole estimate. Does not
  /// allocate.
  virtual void gather(const Step<T>& step, kernels::PassScalars<T>& scalars) = 0;
  /// The flat arrays that the stage reads and writes.
  virtual kernels::PassStreams<T> streams() { return {}; }
  /// After the pass and the projection. Does not allocate.
  virtual void finish(const Step<T>&, const Outcome&) {}
  virtual void weights_changed() {}

  virtual const Diagnostics& last() const;
  virtual std::size_t state_bytes() const = 0;
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual void save(StateWriter& writer) const = 0;
  /// Fills a new estimator; on an error it is thrown away.
  virtual void load(StateReader& reader) = 0;
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
  void save_last(StateWriter& writer) const;
  void load_last(StateReader& reader);

  const detail::TrainableSpec& spec() const { return spec_; }
  bool normalize() const { return spec_.normalize; }

  Diagnostics last_;

 private:
  const detail::TrainableSpec& spec_;  // lives in the recipe, which outlives the estimator
};

/// Fills `to` from `values`, or leaves its zeros where there are none.
template <class T>
void fill_from(std::span<const double> values, Buffer<T>& to);

/// The weights, or the gradient with l2 w added, of all segments in one array.
template <class T>
void flatten_weights(const Step<T>& step, T* out);
template <class T>
void flatten_gradient(const Step<T>& step, T* out);

template <class T>
std::unique_ptr<Estimator<T>> make_estimator(const detail::Recipe& recipe, const Layout& layout);

template <class T>
std::unique_ptr<Estimator<T>> make_average(const detail::Recipe& recipe, std::size_t dimension);
template <class T>
std::unique_ptr<Estimator<T>> make_diagonal(const detail::TrainableSpec& spec,
                                            std::size_t dimension);
template <class T>
std::unique_ptr<Estimator<T>> make_rank_one(const detail::TrainableSpec& spec,
                                            const Layout& layout);
template <class T>
std::unique_ptr<Estimator<T>> make_block(const detail::TrainableSpec& spec, std::size_t dimension,
                                         std::size_t block);

}  // namespace tandem
