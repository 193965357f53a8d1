// SPDX-License-Identifier: MIT
#include "optimizers/stepper.h"

#include <fmt/format.h>
#include <tandem/errors.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/float_environment.h"
#include "optimizers/check.h"
#include "optimizers/full.h"
#include "optimizers/state_size.h"

namespace tandem::detail {
namespace {

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, BFloat16>) return "bfloat16";
  return std::is_same_v<T, float> ? "float" : "double";
}

/// The type of the state on weights of type T.
template <class T>
using StateOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Of an array: four times as many bytes can still be counted.
constexpr std::size_t kMostElements = std::numeric_limits<std::size_t>::max() / sizeof(double) / 4;

/// The rates of a segment of its own.
void check_segment(const std::string& rule, std::size_t s, const SegmentSpec& segment) {
  // Checked in every step of a scheduler, so names are made where something is wrong.
  if (segment.lr && !is_rate(*segment.lr)) {
    check_rate(rule, fmt::format("lr of segment {}", s), *segment.lr);
  }
  if (segment.weight_decay && !is_in(*segment.weight_decay, Range::non_negative)) {
    check_range(rule, fmt::format("weight_decay of segment {}", s), *segment.weight_decay,
                Range::non_negative);
  }
}

/// Checked before a layout is made of them.
Recipe checked(Recipe&& recipe) {
  const auto fail = [&](const std::string& what) {
    return std::invalid_argument(recipe.name + ": " + what);
  };
  if (recipe.segments.empty()) throw fail("Invalid segments: none given");
  std::size_t dimension = 0;
  for (std::size_t s = 0; s < recipe.segments.size(); ++s) {
    const SegmentSpec& segment = recipe.segments[s];
    if (segment.size > kMostElements - dimension) {
      throw fail(fmt::format("Invalid dimension: {} in segment {} is more than any memory holds",
                             segment.size, s));
    }
    dimension += segment.size;
    check_segment(recipe.name, s, segment);
  }
  // Some segments may be empty: shards of a model that has more elsewhere.
  if (dimension == 0) throw fail("Invalid dimension: 0, expected at least 1");
  return std::move(recipe);
}

}  // namespace

Stepper::Stepper(Recipe&& recipe)
    : recipe_(checked(std::move(recipe))),
      layout_(recipe_.segments),
      executor_(default_executor()) {
  if (auto* spec = std::get_if<TrainableSpec>(&recipe_.estimator)) {
    const std::size_t d = layout_.dimension();
    const bool full = spec->structure == TrainableSpec::Structure::full;
    spec->starts_from_matrix = full && !spec->initial_a.empty();
    if (full) planned_form(recipe_, d, sizeof(float));  // refuses what cannot be
    const std::size_t block = std::min(spec->block, d);
    if (spec->structure == TrainableSpec::Structure::block && d > kMostElements / block) {
      throw std::invalid_argument(
          fmt::format("{}: Invalid block: {} of dimension {} is more than any memory holds",
                      recipe_.name, spec->block, d));
    }
    check_values(recipe_.name, full ? "initial_A" : "initial_a", spec->initial_a, full ? d * d : d);
    check_values(recipe_.name, "initial_b", spec->initial_b, d);
    check_values(recipe_.name, "initial_c", spec->initial_c, d);
  }
}

template <class T>
void Stepper::check(std::span<const Segment<T>> segments) const {
  const auto fail = [&](const std::string& what) {
    return std::invalid_argument(recipe_.name + ": " + what);
  };
  if (segments.size() != layout_.segments()) {
    throw fail(fmt::format("Invalid number of segments: {}, expected {}", segments.size(),
                           layout_.segments()));
  }
  std::size_t present = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto size = [&](const char* what, std::size_t found) {
      if (found == layout_.size(s)) return;
      throw fail(
          segments.size() == 1
              ? fmt::format("Invalid size of {}: {}, expected {}", what, found, layout_.size(s))
              : fmt::format("Invalid size of {} in segment {}: {}, expected {}", what, s, found,
                            layout_.size(s)));
    };
    size("weights", segments[s].weights.size());
    if (layout_.size(s) == 0 && segments[s].gradient.empty()) continue;
    const bool left_out = segments.size() > 1 && segments[s].gradient.empty();
    if (!left_out) size("gradient", segments[s].gradient.size());
    if (left_out && needs_all()) {
      throw fail(fmt::format("segment {} has no gradient, and this rule needs those of all", s));
    }
    present += left_out ? 0 : 1;
  }
  if (present == 0) throw fail("no segment has a gradient");
  using OtherType = std::conditional_t<std::is_same_v<StateOf<T>, float>, double, float>;
  if (std::holds_alternative<std::unique_ptr<Engine<OtherType>>>(engine_)) {
    throw fail(fmt::format("Invalid type of weights: {}, but the state is {} since the first step",
                           type_name<T>(), type_name<OtherType>()));
  }
}

bool Stepper::is_full() const {
  const auto* spec = std::get_if<TrainableSpec>(&recipe_.estimator);
  return spec != nullptr && spec->structure == TrainableSpec::Structure::full;
}

bool Stepper::has_engine() const {
  return !std::holds_alternative<std::monostate>(engine_) ||
         !std::holds_alternative<std::monostate>(fresh_);
}

bool Stepper::needs_all() const {
  const auto* spec = std::get_if<TrainableSpec>(&recipe_.estimator);
  return spec != nullptr && (spec->structure == TrainableSpec::Structure::full ||
                             spec->structure == TrainableSpec::Structure::block);
}

template <class T>
std::unique_ptr<Engine<T>> Stepper::fresh_engine(StateOwner owner) const {
  auto engine = std::make_unique<Engine<T>>(recipe_, layout_, owner);
  engine->keep_estimate(keep_estimate_);
  return engine;
}

template <class T>
Engine<T>& Stepper::next_engine() {
  using Own = std::unique_ptr<Engine<T>>;
  if (Own* engine = std::get_if<Own>(&engine_)) return **engine;
  if (owner_ == StateOwner::caller) {
    throw std::invalid_argument(recipe_.name + ": no memory was given for the state");
  }
  if (!std::holds_alternative<Own>(fresh_)) {
    Own engine = fresh_engine<T>(owner_);
    engine->start();
    fresh_ = std::move(engine);
  }
  return *std::get<Own>(fresh_);
}

template <class T>
void Stepper::prepare(std::span<const Segment<T>> segments) {
  const FlushDenormals flush;
  check(segments);
  next_engine<StateOf<T>>().prepare(segments, progress_.clock, *executor_);
}
template void Stepper::prepare(std::span<const Segment<float>>);
template void Stepper::prepare(std::span<const Segment<double>>);
template void Stepper::prepare(std::span<const Segment<BFloat16>>);

template <class T>
GatheredSums Stepper::gather(std::span<const Segment<T>> segments) {
  const FlushDenormals flush;
  check(segments);
  return next_engine<StateOf<T>>().gather(segments, progress_.clock, *executor_);
}
template GatheredSums Stepper::gather(std::span<const Segment<float>>);
template GatheredSums Stepper::gather(std::span<const Segment<double>>);
template GatheredSums Stepper::gather(std::span<const Segment<BFloat16>>);

template <class T>
void Stepper::apply(std::span<const Segment<T>> segments, const GatheredSums& totals,
                    const Rounding& rounding) {
  const FlushDenormals flush;
  check(segments);
  Engine<StateOf<T>>& engine = next_engine<StateOf<T>>();
  bool stepped = false;
  if constexpr (std::is_same_v<T, BFloat16>) {
    stepped = engine.apply(segments, totals, rounding, progress_.clock, *executor_);
  } else {
    stepped = engine.apply(segments, totals, progress_.clock, *executor_);
  }
  if (stepped) {
    ++progress_.clock.step;
    // Kept only now: a step that fails leaves nothing behind.
    if (!std::holds_alternative<std::monostate>(fresh_)) adopt(std::exchange(fresh_, {}));
  } else {
    ++progress_.skipped;
  }
  if (owner_ == StateOwner::caller) {
    engine.estimator().give_back();
    ExportScalars give(callers_scalars_);
    scalars(progress_, engine, give);
  }
}
template void Stepper::apply(std::span<const Segment<float>>, const GatheredSums&, const Rounding&);
template void Stepper::apply(std::span<const Segment<double>>, const GatheredSums&,
                             const Rounding&);
template void Stepper::apply(std::span<const Segment<BFloat16>>, const GatheredSums&,
                             const Rounding&);

// ---- State in the caller's memory

template <class T>
void Stepper::scalars(Progress& progress, Engine<T>& engine, StateVisitor& visitor) {
  visitor.count("step", progress.clock.step);
  visitor.count("epoch", progress.clock.epoch);
  visitor.count("skipped", progress.skipped);
  engine.scalars(visitor);
}

template <class T>
std::vector<StateNeed> Stepper::needs_of(const CallersMemory* memory) const {
  const std::unique_ptr<Engine<T>> engine = fresh_engine<T>(StateOwner::caller);
  Progress progress;
  ListState list;
  scalars(progress, *engine, list);
  if (memory != nullptr) {
    ImportScalars take(*memory, memory->scalars(list.scalars()));
    scalars(progress, *engine, take);
  }
  engine->arrays(list);
  return list.take();
}

std::vector<StateNeed> Stepper::state_needs(ElementType weights,
                                            std::span<const StateMemory> memory) const {
  const CallersMemory callers(recipe_.name, memory);
  const CallersMemory* given = memory.empty() ? nullptr : &callers;
  return weights == ElementType::float64 ? needs_of<double>(given) : needs_of<float>(given);
}

template <class T>
void Stepper::use_memory_as(const CallersMemory& memory, bool start) {
  using Own = std::unique_ptr<Engine<T>>;
  if (owner_ == StateOwner::engine && !std::holds_alternative<std::monostate>(engine_)) {
    throw std::invalid_argument(
        recipe_.name +
        ": it has made steps in memory of its own; make a new one for steps "
        "in the caller's");
  }
  // What is remembered is in the caller's memory alone: an engine that fails is thrown away.
  Own engine;
  if (auto* bound = std::get_if<Own>(&engine_); bound != nullptr && !start) {
    engine = std::move(*bound);
  } else {
    engine = fresh_engine<T>(StateOwner::caller);
  }
  owner_ = StateOwner::caller;
  fresh_ = std::monostate{};
  engine_ = std::monostate{};
  callers_scalars_ = nullptr;
  Progress progress;
  if (scalar_count_ == 0) {
    ListState list;
    scalars(progress, *engine, list);
    scalar_count_ = list.scalars();
  }
  std::uint64_t* const numbers = memory.scalars(scalar_count_);
  if (!start) {
    ImportScalars take(memory, numbers);
    scalars(progress, *engine, take);
    if (progress.clock.step == 0) {
      throw std::invalid_argument(recipe_.name +
                                  ": Invalid state: 'step' is 0, expected at least 1");
    }
  }
  BindMemory bind(memory);
  engine->arrays(bind);
  engine->estimator().taken();
  if (start) {
    engine->start();
    engine->estimator().give_back();
    ExportScalars give(numbers);
    scalars(progress, *engine, give);
  }
  progress_ = progress;
  callers_scalars_ = numbers;
  engine_ = std::move(engine);
}

void Stepper::use_memory(ElementType weights, std::span<const StateMemory> memory, bool start) {
  const CallersMemory callers(recipe_.name, memory);
  if (weights == ElementType::float64) {
    use_memory_as<double>(callers, start);
  } else {
    use_memory_as<float>(callers, start);
  }
}

void Stepper::adopt(std::variant<std::monostate, FloatEngine, DoubleEngine> engine) {
  engine_ = std::move(engine);
  if (auto* spec = std::get_if<TrainableSpec>(&recipe_.estimator)) {
    started_with_values_ = started_with_values_ || !spec->initial_a.empty() ||
                           !spec->initial_b.empty() || !spec->initial_c.empty();
    spec->initial_a = {};
    spec->initial_b = {};
    spec->initial_c = {};
  }
}

void Stepper::save(std::ostream& stream) const {
  StateWriter writer(stream);
  writer.text("rule", recipe_.name);
  writer.count("dimension", layout_.dimension());
  writer.count("step", progress_.clock.step);
  writer.count("epoch", progress_.clock.epoch);
  writer.count("skipped", progress_.skipped);
  std::visit(
      [&](const auto& engine) {
        if constexpr (std::is_same_v<std::decay_t<decltype(engine)>, std::monostate>) {
          writer.text("type", "none");
        } else {
          constexpr bool kFloat = std::is_same_v<std::decay_t<decltype(engine)>, FloatEngine>;
          writer.text("type", kFloat ? "float" : "double");
          engine->save(writer);
        }
      },
      engine_);
  writer.finish();
}

void Stepper::load(std::istream& stream) {
  if (owner_ == StateOwner::caller) {
    throw StateError(recipe_.name +
                     ": the state is in the caller's memory, which a file cannot be loaded into; "
                     "load it into an optimizer with memory of its own");
  }
  StateReader reader(stream);
  const std::string rule = reader.text("rule");
  if (rule != recipe_.name) {
    throw StateError(
        fmt::format("Invalid state: it is of rule '{}', expected '{}'", rule, recipe_.name));
  }
  const std::uint64_t dimension = reader.count("dimension");
  if (dimension != layout_.dimension()) {
    throw StateError(fmt::format("Invalid state: it has dimension {}, expected {}", dimension,
                                 layout_.dimension()));
  }
  Clock clock;
  clock.step = reader.count("step");
  if (clock.step == 0) throw StateError("Invalid state: 'step' is 0, expected at least 1");
  clock.epoch = reader.count("epoch");
  const std::uint64_t skipped = reader.count("skipped");
  const std::string type = reader.text("type");
  // Everything goes into a new engine, which replaces the old one only after the checksum has been
  // seen to be right.
  std::variant<std::monostate, FloatEngine, DoubleEngine> loaded;
  try {
    if (type == "float") {
      FloatEngine engine = fresh_engine<float>(owner_);
      engine->load(reader);
      loaded = std::move(engine);
    } else if (type == "double") {
      DoubleEngine engine = fresh_engine<double>(owner_);
      engine->load(reader);
      loaded = std::move(engine);
    } else if (type != "none") {
      throw StateError(
          fmt::format("Invalid state: its type is '{}', expected float, double or none", type));
    }
  } catch (const std::invalid_argument& error) {  // a double state beyond the memory limit
    throw StateError(std::string("Invalid state: ") + error.what());
  }
  reader.finish();
  const bool is_new = std::holds_alternative<std::monostate>(loaded);
  if (is_new && started_with_values_) {
    throw StateError(
        "Invalid state: it was saved before the first step, and this optimizer has used up its "
        "starting values; load it into a new one");
  }
  progress_.clock = clock;
  progress_.skipped = skipped;
  fresh_ = std::monostate{};
  if (is_new) {
    engine_ = std::monostate{};
  } else {
    adopt(std::move(loaded));
  }
}

void Stepper::set_recipe(Recipe&& recipe) {
  const auto fail = [&](const std::string& what) {
    return std::invalid_argument(recipe_.name + ": " + what + " cannot change after construction");
  };
  if (recipe.segments.size() != recipe_.segments.size()) throw fail("the number of segments");
  const auto* next = std::get_if<TrainableSpec>(&recipe.estimator);
  auto* now = std::get_if<TrainableSpec>(&recipe_.estimator);
  const bool full = now != nullptr && now->structure == TrainableSpec::Structure::full;
  for (std::size_t s = 0; s < recipe.segments.size(); ++s) check_change(s, recipe.segments[s]);
  if (recipe.storage.type != recipe_.storage.type) throw fail("the type of the state");
  if (full && recipe.projection.kind() != recipe_.projection.kind()) {
    throw fail("the kind of projection");
  }
  if (now != nullptr) {
    if (next->normalize != now->normalize) throw fail("normalize");
    if (next->block != now->block) throw fail("block");
    if (next->form != now->form || next->memory_limit != now->memory_limit ||
        next->max_steps != now->max_steps) {
      throw fail("form, memory_limit or max_steps");
    }
    // In place: estimators hold on to it.
    now->alpha = next->alpha;
    now->beta = next->beta;
    now->eps = next->eps;
  } else {
    recipe_.estimator = recipe.estimator;  // the same alternative, in place
  }
  fresh_ = std::monostate{};  // it was made with the options before
  recipe_.segments = std::move(recipe.segments);
  recipe_.scaling = recipe.scaling;
  recipe_.storage = recipe.storage;
  recipe_.lr = recipe.lr;
  recipe_.decay = recipe.decay;
  recipe_.l2 = recipe.l2;
  recipe_.weight_decay = recipe.weight_decay;
  recipe_.projection = recipe.projection;
  recipe_.on_nonfinite = recipe.on_nonfinite;
}

void Stepper::set_rate(std::string_view option, const Schedule& rate) {
  auto* spec = std::get_if<TrainableSpec>(&recipe_.estimator);
  Schedule* const field = option == "lr"                         ? &recipe_.lr
                          : option == "alpha" && spec != nullptr ? &spec->alpha
                          : option == "beta" && spec != nullptr  ? &spec->beta
                                                                 : nullptr;
  if (field == nullptr) {
    throw std::invalid_argument(fmt::format("{}: Unknown rate '{}', expected {}", recipe_.name,
                                            option, spec != nullptr ? "lr, alpha or beta" : "lr"));
  }
  if (!is_rate(rate)) check_rate(recipe_.name, std::string(option), rate);
  *field = rate;
}

void Stepper::set_decay(std::string_view option, double value) {
  double* const field = option == "weight_decay" ? &recipe_.weight_decay
                        : option == "l2"         ? &recipe_.l2
                                                 : nullptr;
  if (field == nullptr) {
    throw std::invalid_argument(
        fmt::format("{}: Unknown decay '{}', expected weight_decay or l2", recipe_.name, option));
  }
  if (!is_in(value, Range::non_negative)) {
    check_range(recipe_.name, std::string(option), value, Range::non_negative);
  }
  *field = value;
}

void Stepper::check_change(std::size_t segment, const SegmentSpec& to, bool begun) const {
  const auto fail = [&](const std::string& what) {
    return std::invalid_argument(recipe_.name + ": " + what + " cannot change after construction");
  };
  const SegmentSpec& from = recipe_.segments[segment];
  if (to.size != from.size) throw fail(fmt::format("the size of segment {}", segment));
  // Full-TO chose its form knowing this.
  if (is_full() && begun &&
      (to.lr.has_value() != from.lr.has_value() ||
       to.weight_decay.has_value() != from.weight_decay.has_value())) {
    throw fail(fmt::format("whether segment {} has rates of its own", segment));
  }
}

void Stepper::set_segment(std::size_t segment, const SegmentSpec& spec) {
  if (segment >= recipe_.segments.size()) {
    throw std::invalid_argument(fmt::format("{}: Invalid segment: {}, expected fewer than {}",
                                            recipe_.name, segment, recipe_.segments.size()));
  }
  check_change(segment, spec, has_engine());
  check_segment(recipe_.name, segment, spec);
  const SegmentSpec before = std::exchange(recipe_.segments[segment], spec);
  if (!is_full() || has_engine()) return;
  try {
    planned_form(recipe_, layout_.dimension(), sizeof(float));
  } catch (...) {
    recipe_.segments[segment] = before;
    throw;
  }
}

void Stepper::set_executor(std::shared_ptr<Executor> executor) {
  if (executor == nullptr) throw std::invalid_argument(recipe_.name + ": no executor given");
  executor_ = std::move(executor);
}

void Stepper::keep_estimate(bool keep) {
  if (auto* engine = std::get_if<FloatEngine>(&engine_)) (*engine)->keep_estimate(keep);
  if (auto* engine = std::get_if<DoubleEngine>(&engine_)) (*engine)->keep_estimate(keep);
  fresh_ = std::monostate{};
  keep_estimate_ = keep;
}

std::vector<double> Stepper::last_estimate() const {
  const auto copy = [](auto values) { return std::vector<double>(values.begin(), values.end()); };
  if (const auto* engine = std::get_if<FloatEngine>(&engine_)) return copy((*engine)->estimate());
  if (const auto* engine = std::get_if<DoubleEngine>(&engine_)) return copy((*engine)->estimate());
  return {};
}

void Stepper::epoch_end() {
  ++progress_.clock.epoch;
  if (callers_scalars_ != nullptr)
    callers_scalars_[1] = progress_.clock.epoch;  // as scalars() has them
}

void Stepper::weights_changed() {
  std::visit(
      [](auto& engine) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(engine)>, std::monostate>) {
          engine->estimator().weights_changed();
        }
      },
      engine_);
}

const Diagnostics& Stepper::last() const {
  static const Diagnostics kNone;
  if (const auto* engine = std::get_if<FloatEngine>(&engine_)) return (*engine)->estimator().last();
  if (const auto* engine = std::get_if<DoubleEngine>(&engine_))
    return (*engine)->estimator().last();
  return kNone;
}

std::size_t Stepper::state_bytes() const {
  if (const auto* engine = std::get_if<FloatEngine>(&engine_)) return (*engine)->state_bytes();
  if (const auto* engine = std::get_if<DoubleEngine>(&engine_)) return (*engine)->state_bytes();
  return planned_state_bytes(recipe_, layout_.dimension());
}

std::size_t Stepper::workspace_bytes() const {
  if (const auto* engine = std::get_if<FloatEngine>(&engine_)) return (*engine)->workspace_bytes();
  if (const auto* engine = std::get_if<DoubleEngine>(&engine_)) return (*engine)->workspace_bytes();
  return 0;
}

std::size_t Stepper::most_bytes(std::size_t steps) const {
  const std::size_t d = layout_.dimension();
  const auto* spec = std::get_if<TrainableSpec>(&recipe_.estimator);
  if (spec == nullptr) return planned_state_bytes(recipe_, d);
  if (spec->structure == TrainableSpec::Structure::full) {
    constexpr double kMost = 0x1p63;  // so that others can be added to it
    return static_cast<std::size_t>(std::min(
        tandem::most_bytes(recipe_, d, steps, sizeof(float), executor_->threads()), kMost));
  }
  // Weights, gradient and estimate in one array each.
  const bool flattens = spec->structure == TrainableSpec::Structure::block;
  return planned_state_bytes(recipe_, d) + (flattens ? 3 * d * sizeof(float) : 0);
}

}  // namespace tandem::detail
