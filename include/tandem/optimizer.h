// SPDX-License-Identifier: MIT
// What all optimizers have in common: steps over one span or a list of segments, a clock,
// diagnostics, saved state.
#pragma once

#include <tandem/bfloat16.h>
#include <tandem/executor.h>
#include <tandem/schedule.h>
#include <tandem/state.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

namespace detail {
class Stepper;
struct Recipe;
}  // namespace detail

/// A part of a model's weights with its gradient: a layer's matrix, a tensor. An empty gradient
/// leaves the segment out of a step: its weights and its state stay, and sums over the weights (the
/// scalars of RO-TO, the norm of a projection) do not see it. Full-TO and Block-TO refuse that.
template <class T>
struct Segment {
  std::span<T> weights;
  std::span<const T> gradient;
};

/// How a segment is stepped. What is not set is as in the optimizer's options.
struct SegmentSpec {
  std::size_t size = 0;
  std::optional<Schedule> lr = std::nullopt;
  std::optional<double> weight_decay = std::nullopt;
  /// The number of its first element among all weights of a model whose parts are on several machines:
  /// noise of rounding depends on it. Not set: as the segments follow each other.
  std::optional<std::uint64_t> first_element = std::nullopt;
};

/// What a trainable optimizer saw in its last step; NaN before the first step, and always for the
/// others.
struct Diagnostics {
  /// |g - p|: how far the estimator's prediction was from the gradient it was shown.
  double residual_norm = std::numeric_limits<double>::quiet_NaN();
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();
  /// How much of the residual the correction took in; stability wants 0 < delta < 2. Full-TO: alpha
  /// |w|^2 + beta; Diag-TO and Block-TO: the largest over coordinates or blocks; RO-TO: alpha (s^2
  /// + |a|^2 |w|^2) + beta.
  double delta = std::numeric_limits<double>::quiet_NaN();
};

/// Base of all optimizers. Movable, not copyable; one thread at a time.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;

  /// One step on a model whose weights are one vector. The type of the first step (or of a loaded
  /// state) is the type of the state from then on. Throws std::invalid_argument for a wrong size or
  /// type, NonFiniteGradient; in both cases, and in every other, a step that throws has changed
  /// neither weights nor state.
  void step(std::span<float> weights, std::span<const float> gradient);
  void step(std::span<double> weights, std::span<const double> gradient);
  /// One step on a list of segments, as over one vector; sizes as given at construction.
  void step(std::span<const Segment<float>> segments);
  void step(std::span<const Segment<double>> segments);
  /// bfloat16 weights and gradients with a float state.
  void step(std::span<const Segment<BFloat16>> segments, const Rounding& rounding = {});

  /// Everything of the next step that can fail but the look for NaN: checks sizes, types and rates
  /// and allocates. Changes neither weights nor state. For those who make the steps of several
  /// optimizers one: prepare all, then step all. A step alone prepares by itself.
  void prepare(std::span<const Segment<float>> segments);
  void prepare(std::span<const Segment<double>> segments);
  void prepare(std::span<const Segment<BFloat16>> segments);

  /// The two phases of a step, for a model whose parts are on several machines: sums over the weights
  /// here, to which those of the other machines are added, and the step. gather changes nothing.
  GatheredSums gather(std::span<const Segment<float>> segments);
  GatheredSums gather(std::span<const Segment<double>> segments);
  GatheredSums gather(std::span<const Segment<BFloat16>> segments);
  void apply(std::span<const Segment<float>> segments, const GatheredSums& totals);
  void apply(std::span<const Segment<double>> segments, const GatheredSums& totals);
  void apply(std::span<const Segment<BFloat16>> segments, const GatheredSums& totals,
             const Rounding& rounding = {});

  /// The arrays that the next step on weights of this type needs if the state is in the caller's
  /// memory: a new state, or the one in `memory`, of which only the scalars are looked at.
  std::vector<StateNeed> state_needs(ElementType weights,
                                     std::span<const StateMemory> memory = {}) const;
  /// Makes steps on state in the caller's memory from now on, with the same bits as in its own.
  /// `start` fills it with starting values; otherwise what is there is the state, the clock
  /// included, and another optimizer with the same options goes on from it. To be called again where
  /// state_needs has changed (Full-TO), where memory has moved, or where somebody else wrote to it;
  /// throws std::invalid_argument and changes nothing in the caller's memory where it is missing
  /// something.
  void use_memory(ElementType weights, std::span<const StateMemory> memory, bool start);

  /// Tells schedules that count epochs to move on.
  void epoch_end();
  /// Tells the optimizer that somebody else moved the weights since its last step. Rules that carry
  /// facts about the weights from step to step (RO-TO, Full-TO's span form) find out by themselves,
  /// so this is never required; it saves them the search.
  void weights_changed();

  /// The name on the command line, such as "diag-to".
  const std::string& name() const;
  std::size_t dimension() const;
  /// The step about to be made and the epoch.
  Clock clock() const;
  /// The rate of the step about to be made, and a way for schedulers to set it (of all segments
  /// without a rate of their own).
  double lr() const;
  void set_lr(const Schedule& lr) { set_rate("lr", lr); }
  /// The same for "alpha" and "beta" of trainable rules. Costs next to nothing: for schedulers that
  /// move rates in every step.
  void set_rate(std::string_view option, const Schedule& rate);
  /// The same for "weight_decay" (of all segments without one of their own) and "l2".
  void set_decay(std::string_view option, double value);
  /// A segment's own rate and weight decay, from the next step on; its size stays.
  void set_segment(std::size_t segment, const SegmentSpec& spec);
  /// Other options from the next step on, the state as it is: what is not named gets its default.
  /// The sizes of segments, and what the state's shape depends on (Block-TO's block, Full-TO's form
  /// and limits, normalize), cannot change. Throws std::invalid_argument and changes nothing.
  void set_options(const std::vector<SegmentSpec>& segments,
                   const std::map<std::string, std::string>& options);

  /// Bytes of what the rule remembers from step to step. Before the first step: what it will be
  /// with float weights.
  std::size_t state_bytes() const;
  /// Bytes held beside the state to be fast: delayed updates, partial sums.
  std::size_t workspace_bytes() const;
  /// The most bytes of state and workspace that a run of so many steps will hold with float weights,
  /// if nobody else moves the weights; small buffers apart.
  std::size_t most_bytes(std::size_t steps) const;
  /// Steps left out under `.on_nonfinite = skip`.
  std::uint64_t skipped_steps() const;
  const Diagnostics& last() const;
  /// Keeps the estimate G of each step from now on, for those who study estimators; one more write
  /// a step. Not part of the state.
  void keep_estimate(bool keep = true);
  /// G of the last step, all segments in one; empty where it was not kept.
  std::vector<double> last_estimate() const;

  /// Everything that the next steps depend on besides the options. A save, a load and n steps give
  /// the same bits as n steps without. The stream may hold other things before and after.
  void save(std::ostream& stream) const;
  /// Throws StateError, and changes nothing, for a state that is damaged, truncated, of another
  /// rule, size or version.
  void load(std::istream& stream);

  void set_executor(std::shared_ptr<Executor> executor);

 protected:
  explicit Optimizer(detail::Recipe&& recipe);
  const detail::Stepper& stepper() const { return *stepper_; }

 private:
  std::unique_ptr<detail::Stepper> stepper_;
};

}  // namespace tandem
