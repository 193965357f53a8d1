// SPDX-License-Identifier: MIT
// Where a step's gradient comes from. A source sees the problem, the batch and the weights, gives a
// stochastic gradient with less variance than the batch's own, and counts the gradient evaluations
// it spends. Each member of a population has its own.
#pragma once

#include <tandem/executor.h>
#include <tandem/problem.h>
#include <tandem/registry.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/state_stream.h"

namespace tandem::sources {

class Source {
 public:
  virtual ~Source() = default;

  /// Before the steps of an epoch: snapshots.
  virtual void epoch(const float* /*weights*/) {}
  /// gradient = the source's estimate at `weights` on the batch whose rows are given. Returns the
  /// batch's rough loss.
  virtual double gradient(const Batch& batch, std::span<const std::uint32_t> rows,
                          const float* weights, float* gradient) = 0;
  /// Of single samples, so far.
  virtual std::uint64_t evaluations() const = 0;
  virtual std::size_t state_bytes() const = 0;
  virtual void save(StateWriter& writer) const = 0;
  virtual void load(StateReader& reader) = 0;
};

/// The mean of the gradients of f_n over all training samples, without lambda; a fixed order of
/// samples, so that its bits are.
std::vector<double> full_gradient(const Problem& problem, const float* weights);

/// A method is a source with a rule: "svrg+diag-to". Short names: saga, svrg, storm (with sgd),
/// vradam (svrg+adam). A rule alone has the source "minibatch".
struct Method {
  std::string source;
  std::string rule;
};
/// Throws std::invalid_argument for an unknown name, with the nearest known one.
Method parse_method(const std::string& name);

/// Null for minibatch, which is the batch's gradient itself. Options of the source (storm's `a`)
/// are taken out of `options`.
std::unique_ptr<Source> make_source(const Method& method, const Problem& problem,
                                    OptionMap& options);

}  // namespace tandem::sources
