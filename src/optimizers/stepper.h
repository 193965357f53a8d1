// SPDX-License-Identifier: MIT
// What stands behind an Optimizer: the recipe, the clock, and an engine in the type of the weights
// once that is known.
#pragma once

#include <tandem/optimizer.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "optimizers/engine.h"
#include "optimizers/layout.h"
#include "optimizers/recipe.h"
#include "optimizers/state_visitors.h"

namespace tandem::detail {

class Stepper {
 public:
  /// Checks the segments and what only the whole recipe can tell; throws std::invalid_argument.
  explicit Stepper(Recipe&& recipe);

  /// See Optimizer::prepare.
  template <class T>
  void prepare(std::span<const Segment<T>> segments);
  template <class T>
  void step(std::span<const Segment<T>> segments, const Rounding& rounding = {}) {
    apply(segments, gather(segments), rounding);
  }
  /// The two phases of a step, see Engine.
  template <class T>
  GatheredSums gather(std::span<const Segment<T>> segments);
  template <class T>
  void apply(std::span<const Segment<T>> segments, const GatheredSums& totals,
             const Rounding& rounding = {});

  /// See Optimizer::state_needs and Optimizer::use_memory.
  std::vector<StateNeed> state_needs(ElementType weights,
                                     std::span<const StateMemory> memory) const;
  void use_memory(ElementType weights, std::span<const StateMemory> memory, bool start);
  /// See Optimizer::set_options.
  void set_recipe(Recipe&& recipe);
  void save(std::ostream& stream) const;
  void load(std::istream& stream);

  const Recipe& recipe() const { return recipe_; }
  Recipe take_recipe() && { return std::move(recipe_); }
  const Layout& layout() const { return layout_; }
  void epoch_end();
  const Clock& clock() const { return progress_.clock; }
  std::uint64_t skipped() const { return progress_.skipped; }
  void set_rate(std::string_view option, const Schedule& rate);
  void set_decay(std::string_view option, double value);
  void set_segment(std::size_t segment, const SegmentSpec& spec);
  void set_executor(std::shared_ptr<Executor> executor);
  const Executor& executor() const { return *executor_; }
  void weights_changed();
  void keep_estimate(bool keep);
  std::vector<double> last_estimate() const;
  const Diagnostics& last() const;
  std::size_t state_bytes() const;
  std::size_t workspace_bytes() const;
  std::size_t most_bytes(std::size_t steps) const;

  using FloatEngine = std::unique_ptr<Engine<float>>;
  using DoubleEngine = std::unique_ptr<Engine<double>>;
  /// Empty until the first step or a load.
  const std::variant<std::monostate, FloatEngine, DoubleEngine>& engine() const { return engine_; }

 private:
  template <class T>
  void check(std::span<const Segment<T>> segments) const;
  /// For the first step.
  template <class T>
  std::unique_ptr<Engine<T>> fresh_engine(StateOwner owner) const;
  /// Whether a step must have a gradient for every segment.
  bool needs_all() const;
  bool is_full() const;
  /// Whether a state was begun or bound.
  bool has_engine() const;
  /// Lets go of starting values once an engine has them.
  void adopt(std::variant<std::monostate, FloatEngine, DoubleEngine> engine);
  /// The engine of the next step in the type of the weights: the one there is, or a new one, which
  /// becomes it when a step is made.
  template <class T>
  Engine<T>& next_engine();
  struct Progress {
    Clock clock;
    std::uint64_t skipped = 0;
  };
  /// The clock and the scalars of an engine.
  template <class T>
  static void scalars(Progress& progress, Engine<T>& engine, StateVisitor& visitor);
  template <class T>
  std::vector<StateNeed> needs_of(const CallersMemory* memory) const;
  template <class T>
  void use_memory_as(const CallersMemory& memory, bool start);
  /// Throws where a segment cannot have these, after construction.
  void check_change(std::size_t segment, const SegmentSpec& to, bool begun = true) const;

  Recipe recipe_;
  Layout layout_;
  Progress progress_;
  bool started_with_values_ = false;
  bool keep_estimate_ = false;
  StateOwner owner_ = StateOwner::engine;
  std::uint64_t* callers_scalars_ = nullptr;
  std::size_t scalar_count_ = 0;  // once it is known
  std::shared_ptr<Executor> executor_;
  std::variant<std::monostate, FloatEngine, DoubleEngine> engine_;
  // What prepare() made for the first step; not a state yet.
  std::variant<std::monostate, FloatEngine, DoubleEngine> fresh_;
};

}  // namespace tandem::detail
