// SPDX-License-Identifier: MIT
#include "optimizers/engine.h"

#include <fmt/format.h>
#include <tandem/errors.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "base/parallel.h"
#include "base/random.h"
#include "kernels/narrow.h"
#include "optimizers/state_visitors.h"

namespace tandem {

namespace {

/// Starting values are given as double, and may be more than the state can hold.
template <class T>
void check_starting_values(const detail::Recipe& recipe) {
  // Halfway between bfloat16's largest number and the next power of 2: rounds to infinity.
  constexpr double kBFloat16Overflow = 0x1.FFp127;
  const auto check = [&](const char* what, double value, bool narrow) {
    if (narrow ? std::abs(value) < kBFloat16Overflow : std::isfinite(static_cast<T>(value))) return;
    const char* const type = narrow ? "bfloat16" : std::is_same_v<T, float> ? "float" : "double";
    throw std::invalid_argument(
        fmt::format("{}: Invalid {}: {}, expected a number that a {} state can hold", recipe.name,
                    what, value, type));
  };
  const bool narrow = recipe.storage.narrow();
  check("initial_accumulator", recipe.scaling.initial, narrow);
  const auto* spec = std::get_if<detail::TrainableSpec>(&recipe.estimator);
  if (spec == nullptr) return;
  const bool full = spec->structure == detail::TrainableSpec::Structure::full;
  for (const double value : spec->initial_a) check(full ? "initial_A" : "initial_a", value, narrow);
  // Full-TO keeps b in float.
  for (const double value : spec->initial_b) check("initial_b", value, narrow && !full);
  for (const double value : spec->initial_c) check("initial_c", value, narrow);
}

}  // namespace

template <class T>
Engine<T>::Engine(const detail::Recipe& recipe, const Layout& layout, StateOwner owner)
    : recipe_(recipe),
      layout_(layout),
      estimator_(make_estimator<T>(recipe, layout, owner)),
      pass_(kernels_.pass(estimator_->stage(), recipe.scaling.stage)),
      sums_(layout.blocks()),
      scalars_(layout.segments()),
      rates_(layout.segments()),
      streams_(layout.segments()),
      narrow_streams_(layout.segments()) {
  check_starting_values<T>(recipe);
  if (recipe.scaling.stage == kernels::ScalingStage::second_moment) {
    moment_ = ElementState<T>(layout, owner, recipe.storage);
  }
  if (!recipe.storage.narrow()) return;
  if (std::is_same_v<T, double>) {
    throw std::invalid_argument(recipe.name +
                                ": Invalid state: bfloat16, expected full for double weights");
  }
  // Full-TO keeps its matrix in bfloat16 by itself.
  narrow_pass_ = kernels::narrow_pass(estimator_->stage(), recipe.scaling.stage);
}

template <class T>
void Engine<T>::arrays(StateVisitor& visitor) {
  if (!moment_.empty()) moment_.visit("v", visitor);
  estimator_->arrays(visitor);
}

template <class T>
void Engine<T>::start() {
  if (recipe_.scaling.initial == 0) {
    moment_.start_from({});
  } else {
    moment_.fill(recipe_.scaling.initial);
  }
  estimator_->start();
}

template <class T>
template <class Body>
void Engine<T>::for_blocks(const Step<T>& step, const Body& body) const {
  parallel_ranges(
      step.executor, layout_.blocks(), kBlocksPerThread,
      [&](std::size_t first, std::size_t last) { layout_.for_blocks(first, last, body); });
}

template <class T>
Step<T> Engine<T>::step_at(std::span<const Segment<T>> segments, const Clock& clock,
                           Executor& executor) const {
  const double factor =
      recipe_.decay == 1 ? 1 : std::pow(recipe_.decay, static_cast<double>(clock.epoch));
  const double lr = recipe_.lr.at(clock) * factor;
  return {segments, layout_,    executor, clock,
          factor,   recipe_.l2, lr,       1 - lr * recipe_.weight_decay};
}

template <class T>
void Engine<T>::require_finite(const Step<T>& step, double value, const std::string& what) const {
  if (std::isfinite(static_cast<T>(value))) return;
  throw NonFiniteRate(fmt::format(
      "{}: {} is {} in step {}, epoch {}, expected a number that {} weights can take; weights and "
      "state are unchanged",
      recipe_.name, what, value, step.clock.step, step.clock.epoch,
      std::is_same_v<T, float> ? "float" : "double"));
}

template <class T>
void Engine<T>::read_rates(const Step<T>& step) {
  const auto text = [&](const char* name, const Schedule& rate) {
    const std::string decay =
        recipe_.decay == 1 ? "" : fmt::format(" times {}^epoch (decay)", recipe_.decay);
    return fmt::format("{} = {}{}", name, rate.to_string(), decay);
  };
  for (std::size_t s = 0; s < rates_.size(); ++s) {
    const SegmentSpec& segment = recipe_.segments[s];
    const double lr = segment.lr ? segment.lr->at(step.clock) * step.rate_factor : step.lr;
    const double weight_decay = segment.weight_decay.value_or(recipe_.weight_decay);
    const double shrink = 1 - lr * weight_decay;
    rates_[s] = {static_cast<T>(lr), static_cast<T>(shrink)};
    if (std::isfinite(rates_[s].lr) && std::isfinite(rates_[s].shrink)) continue;
    const std::string of =
        segment.lr || segment.weight_decay ? fmt::format(" of segment {}", s) : "";
    const std::string rate = text("lr", segment.lr.value_or(recipe_.lr)) + of;
    require_finite(step, lr, rate);
    require_finite(
        step, shrink,
        fmt::format("1 - lr weight_decay, with weight_decay = {} and {},", weight_decay, rate));
  }
  if (const auto* spec = std::get_if<detail::TrainableSpec>(&recipe_.estimator)) {
    for (const Schedule* rate : {&spec->alpha, &spec->beta}) {
      const double value = rate->at(step.clock) * step.rate_factor;
      if (std::isfinite(static_cast<T>(value))) continue;
      require_finite(step, value, text(rate == &spec->alpha ? "alpha" : "beta", *rate));
    }
  }
  // Numbers beyond float.
  if (!std::isfinite(static_cast<T>(recipe_.l2))) require_finite(step, recipe_.l2, "l2");
  const Projection& projection = recipe_.projection;
  if (projection.kind() != Projection::Kind::box) return;
  const T infinity = std::numeric_limits<T>::infinity();
  if (static_cast<T>(projection.low()) == infinity) {
    require_finite(step, projection.low(), "the lower bound of the box");
  }
  if (static_cast<T>(projection.high()) == -infinity) {
    require_finite(step, projection.high(), "the upper bound of the box");
  }
}

template <class T>
void Engine<T>::prepare(const Step<T>& step) {
  read_rates(step);
  if (recipe_.projection.kind() == Projection::Kind::ball) squares_.resize(layout_.blocks());
  estimator_->prepare(step);
}

template <class T>
void Engine<T>::prepare(std::span<const Segment<T>> segments, const Clock& clock,
                        Executor& executor) {
  prepare(step_at(segments, clock, executor));
}

template <class T>
GatheredSums Engine<T>::gather(std::span<const Segment<T>> segments, const Clock& clock,
                               Executor& executor) {
  const Step<T> step = step_at(segments, clock, executor);
  GatheredSums sums;
  const bool vouched = estimator_->gather(step, sums);
  if (recipe_.on_nonfinite != OnNonFinite::ignore && !vouched && !finite(step)) sums.nonfinite = 1;
  return sums;
}

template <class T>
bool Engine<T>::apply(std::span<const Segment<T>> segments, const GatheredSums& totals,
                      const Clock& clock, Executor& executor) {
  const Step<T> step = step_at(segments, clock, executor);
  const auto value = [&](std::size_t segment, std::size_t index) {
    const auto gradient = segments[segment].gradient;
    return gradient.empty() ? 0.0 : static_cast<double>(gradient[index]);
  };
  if (!accept(step, totals, value)) return false;
  prepare(step);
  // Nothing is allocated and nothing fails from here on.
  kernels::PassScalars<T> scalars;
  scale_stage(step, scalars);
  estimator_->ready(step, totals, scalars);
  // What sums up must see a block at a time.
  const std::size_t together = kernels::sums_up(estimator_->stage()) ? 1 : layout_.blocks();
  run_pass(step, scalars, together, [&](const Layout::Block& block, const auto& use) {
    const Segment<T>& segment = segments[block.segment];
    if (!left_out(segment)) {
      use(segment.weights.data() + block.begin, segment.gradient.data() + block.begin);
    }
  });
  Outcome outcome{sums_};
  project(step, outcome);
  estimator_->finish(step, outcome);
  return true;
}

template <class T>
template <class Look>
bool Engine<T>::finite(const Step<T>& step, const Look& look) {
  // The first place by index, whichever thread finds one.
  std::atomic<std::size_t> first_bad{layout_.dimension()};
  const auto note = [&](const Layout::Block& block) {
    const std::size_t at = look(block);
    if (at == block.count) return;
    std::size_t seen = first_bad.load();
    while (block.flat + at < seen && !first_bad.compare_exchange_weak(seen, block.flat + at)) {
    }
  };
  // Backwards, so that the pass, which starts at the front, finds the front in the cache.
  parallel_ranges(step.executor, layout_.blocks(), kBlocksPerThread,
                  [&](std::size_t first, std::size_t last) {
                    constexpr std::size_t kTogether = 16;
                    while (last > first) {
                      const std::size_t begin = std::max(first + kTogether, last) - kTogether;
                      layout_.for_runs(begin, last, kTogether, note);
                      last = begin;
                    }
                  });
  first_bad_ = first_bad.load();
  return first_bad_ == layout_.dimension();
}

template <class T>
template <class Value>
bool Engine<T>::accept(const Step<T>& step, const GatheredSums& totals, const Value& value) const {
  if (!(totals.nonfinite > 0)) return true;
  if (recipe_.on_nonfinite == OnNonFinite::skip) return false;
  // Where gather found it, if it was asked here and about this gradient.
  std::size_t segment = 0;
  std::size_t index = first_bad_;
  while (segment < layout_.segments() && index >= layout_.size(segment)) {
    index -= layout_.size(segment++);
  }
  if (segment == layout_.segments() || std::isfinite(value(segment, index))) {
    throw NonFiniteGradient(
        fmt::format("{}: a gradient on another machine is not finite in step {}; weights and state "
                    "are unchanged",
                    recipe_.name, step.clock.step),
        layout_.segments(), 0);
  }
  throw NonFiniteGradient(
      fmt::format("{}: the gradient of segment {} is {} at index {} in step {}; weights and state "
                  "are unchanged",
                  recipe_.name, segment, value(segment, index), index, step.clock.step),
      segment, index);
}

template <class T>
bool Engine<T>::finite(const Step<T>& step) {
  return finite(step, [&](const Layout::Block& block) {
    const Segment<T>& segment = step.segments[block.segment];
    if (left_out(segment)) return block.count;
    return kernels_.first_nonfinite(segment.gradient.data() + block.begin, block.count);
  });
}

template <class T>
void Engine<T>::scale_stage(const Step<T>& step, kernels::PassScalars<T>& scalars) const {
  const detail::ScalingSpec& scaling = recipe_.scaling;
  if (scaling.stage != kernels::ScalingStage::second_moment) return;
  double root = 1;
  if (scaling.correct) {
    root = 1 / std::sqrt(1 - std::pow(scaling.keep, static_cast<double>(step.clock.step)));
  }
  scalars.v_keep = static_cast<T>(scaling.keep);
  scalars.v_take = static_cast<T>(scaling.take);
  scalars.v_root = static_cast<T>(root);
  scalars.v_eps = static_cast<T>(scaling.eps);
}

template <class T>
template <class Reach>
void Engine<T>::run_pass(const Step<T>& step, const kernels::PassScalars<T>& common,
                         std::size_t together, const Reach& reach) {
  for (std::size_t s = 0; s < scalars_.size(); ++s) {
    scalars_[s] = common;
    scalars_[s].lr = rates_[s].lr;
    scalars_[s].shrink = rates_[s].shrink;
    scalars_[s].l2 = static_cast<T>(recipe_.l2);
  }
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    streams_[s] = estimator_->streams(s);
    streams_[s].moment = moment_.part(s);
    narrow_streams_[s] = estimator_->narrow_streams(s);
    narrow_streams_[s].moment = moment_.half_part(s);
  }
  // A stream of its own: weights may be rounded with the same seed.
  constexpr std::uint64_t kStateStream = 0x5354415445ULL;
  kernels::StateRounding rounding{
      .stochastic = recipe_.storage.rounding == StateRounding::stochastic,
      .key = Random(recipe_.storage.seed ^ kStateStream, step.clock.step).bits()};
  const T* given = estimator_->estimate();
  const auto shifted = [](auto* stream, std::size_t by) {
    return stream == nullptr ? nullptr : stream + by;
  };
  const auto pass = [&](const Layout::Block& block) {
    kernels::PassSums sums;  // none, where the block is left out
    reach(block, [&](T* weights, const T* gradient) {
      if constexpr (std::is_same_v<T, float>) {
        if (narrow_pass_ != nullptr) {
          const kernels::NarrowStreams& base = narrow_streams_[block.segment];
          kernels::StateRounding own = rounding;
          own.first_element = first_element(block);
          narrow_pass_({weights, gradient, shifted(base.first, block.begin),
                        shifted(base.second, block.begin), shifted(base.moment, block.begin),
                        shifted(estimate_.data(), block.flat)},
                       scalars_[block.segment], own, block.count, &sums);
          return;
        }
      }
      const kernels::PassStreams<T>& base = streams_[block.segment];
      const kernels::PassStreams<T> streams{weights,
                                            gradient,
                                            shifted(given, block.flat),
                                            shifted(base.first, block.begin),
                                            shifted(base.second, block.begin),
                                            shifted(base.third, block.begin),
                                            shifted(base.moment, block.begin),
                                            shifted(estimate_.data(), block.flat)};
      pass_(streams, scalars_[block.segment], block.count, &sums);
    });
    sums_[block.index] = sums;
  };
  parallel_ranges(
      step.executor, layout_.blocks(), kBlocksPerThread,
      [&](std::size_t first, std::size_t last) { layout_.for_runs(first, last, together, pass); });
}

template <class T>
void Engine<T>::project(const Step<T>& step, Outcome& outcome) {
  const Projection& projection = recipe_.projection;
  const auto part = [&](const Layout::Block& block) {
    return step.segments[block.segment].weights.data() + block.begin;
  };
  const auto present = [&](const Layout::Block& block) {
    return !left_out(step.segments[block.segment]);
  };
  if (projection.kind() == Projection::Kind::box) {
    const auto low = static_cast<T>(projection.low());
    const auto high = static_cast<T>(projection.high());
    for_blocks(step, [&](const Layout::Block& block) {
      if (present(block)) kernels_.clamp(part(block), block.count, low, high);
    });
    outcome.boxed = true;
  } else if (projection.kind() == Projection::Kind::ball) {
    for_blocks(step, [&](const Layout::Block& block) {
      squares_[block.index] =
          present(block) ? kernels_.dot(part(block), part(block), block.count) : 0;
    });
    double norm = 0;
    for (const double square : squares_) norm += square;
    norm = std::sqrt(norm);
    // Weights that are not finite stay as they are: a diverged run must be seen.
    if (!(norm > projection.radius()) || !std::isfinite(norm)) return;
    outcome.scaled = projection.radius() / norm;
    const auto factor = static_cast<T>(outcome.scaled);
    for_blocks(step, [&](const Layout::Block& block) {
      if (present(block)) kernels_.scale(part(block), block.count, factor);
    });
  }
}

template <class T>
std::uint64_t Engine<T>::first_element(const Layout::Block& block) const {
  const auto given = recipe_.segments[block.segment].first_element;
  return given ? *given + block.begin : block.flat;
}

template <class T>
void Engine<T>::narrow_block(const float* from, const Layout::Block& block, BFloat16* to,
                             const Rounding& rounding, const Clock& clock) const {
  if (rounding.stochastic) {
    kernels::narrow_stochastic(from, block.count, to, Random(rounding.seed, clock.step).bits(),
                               first_element(block));
  } else {
    kernels::narrow(from, block.count, to);
  }
}

template <class T>
bool Engine<T>::elementwise() const {
  const kernels::EstimatorStage stage = estimator_->stage();
  return stage != kernels::EstimatorStage::rank_one && stage != kernels::EstimatorStage::given &&
         recipe_.projection.kind() == Projection::Kind::none;
}

template <class T>
void Engine<T>::prepare(std::span<const Segment<BFloat16>> segments, const Clock& clock,
                        Executor& executor) {
  if constexpr (std::is_same_v<T, float>) {
    // Elementwise estimators look at the clock and the rates only.
    prepare(elementwise() ? std::span<const Segment<float>>() : widen(segments, clock, executor),
            clock, executor);
  }
}

template <class T>
GatheredSums Engine<T>::gather(std::span<const Segment<BFloat16>> segments, const Clock& clock,
                               Executor& executor) {
  if constexpr (std::is_same_v<T, float>) {
    if (!elementwise()) return gather(widen(segments, clock, executor), clock, executor);
    GatheredSums sums;
    if (recipe_.on_nonfinite == OnNonFinite::ignore) return sums;
    const bool good = finite(step_at({}, clock, executor), [&](const Layout::Block& block) {
      const Segment<BFloat16>& segment = segments[block.segment];
      if (left_out(segment)) return block.count;
      std::array<float, kernels::kBlock> gradient;
      for (std::size_t begin = 0; begin < block.count; begin += kernels::kBlock) {
        const std::size_t count = std::min(kernels::kBlock, block.count - begin);
        kernels::widen(segment.gradient.data() + block.begin + begin, count, gradient.data());
        const std::size_t at = kernels_.first_nonfinite(gradient.data(), count);
        if (at < count) return begin + at;
      }
      return block.count;
    });
    if (!good) sums.nonfinite = 1;
    return sums;
  } else {
    return {};
  }
}

template <class T>
bool Engine<T>::apply(std::span<const Segment<BFloat16>> segments, const GatheredSums& totals,
                      const Rounding& rounding, const Clock& clock, Executor& executor) {
  if constexpr (std::is_same_v<T, float>) {
    return elementwise() ? apply_elementwise(segments, totals, rounding, clock, executor)
                         : apply_widened(segments, totals, rounding, clock, executor);
  } else {
    return false;
  }
}

template <class T>
bool Engine<T>::apply_elementwise(std::span<const Segment<BFloat16>> segments,
                                  const GatheredSums& totals, const Rounding& rounding,
                                  const Clock& clock, Executor& executor) {
  if constexpr (std::is_same_v<T, float>) {
    // Elementwise estimators look at the clock and the rates only.
    const Step<float> step = step_at({}, clock, executor);
    const auto value = [&](std::size_t segment, std::size_t index) {
      float wide = 0;
      const auto gradient = segments[segment].gradient;
      if (!gradient.empty()) kernels::widen(&gradient[index], 1, &wide);
      return static_cast<double>(wide);
    };
    if (!accept(step, totals, value)) return false;
    prepare(step);
    kernels::PassScalars<float> scalars;
    scale_stage(step, scalars);
    estimator_->ready(step, totals, scalars);
    run_pass(step, scalars, 1, [&](const Layout::Block& block, const auto& use) {
      const Segment<BFloat16>& segment = segments[block.segment];
      if (left_out(segment)) return;
      std::array<float, kernels::kBlock> weights;
      std::array<float, kernels::kBlock> gradient;
      BFloat16* place = segment.weights.data() + block.begin;
      kernels::widen(place, block.count, weights.data());
      kernels::widen(segment.gradient.data() + block.begin, block.count, gradient.data());
      use(weights.data(), gradient.data());
      narrow_block(weights.data(), block, place, rounding, clock);
    });
    estimator_->finish(step, Outcome{sums_});
    return true;
  } else {
    return false;
  }
}

template <class T>
std::span<const Segment<float>> Engine<T>::widen(std::span<const Segment<BFloat16>> segments,
                                                 const Clock& clock, Executor& executor) {
  if constexpr (std::is_same_v<T, float>) {
    if (wide_weights_.empty()) wide_weights_ = Buffer<float>(layout_.dimension());
    if (wide_gradient_.empty()) wide_gradient_ = Buffer<float>(layout_.dimension());
    wide_.resize(segments.size());
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const std::size_t from = layout_.offset(s);
      const std::size_t gradients = left_out(segments[s]) ? 0 : layout_.size(s);
      wide_[s] = {wide_weights_.span().subspan(from, layout_.size(s)),
                  wide_gradient_.span().subspan(from, gradients)};
    }
    for_blocks(step_at(wide_, clock, executor), [&](const Layout::Block& block) {
      const Segment<BFloat16>& segment = segments[block.segment];
      kernels::widen(segment.weights.data() + block.begin, block.count,
                     wide_weights_.data() + block.flat);
      if (left_out(segment)) return;
      kernels::widen(segment.gradient.data() + block.begin, block.count,
                     wide_gradient_.data() + block.flat);
    });
  }
  return wide_;
}

template <class T>
bool Engine<T>::apply_widened(std::span<const Segment<BFloat16>> segments,
                              const GatheredSums& totals, const Rounding& rounding,
                              const Clock& clock, Executor& executor) {
  if constexpr (std::is_same_v<T, float>) {
    const std::span<const Segment<float>> wide = wide_;  // by gather
    if (!apply(wide, totals, clock, executor)) return false;
    for_blocks(step_at(wide, clock, executor), [&](const Layout::Block& block) {
      const Segment<BFloat16>& segment = segments[block.segment];
      if (left_out(segment)) return;
      narrow_block(wide_weights_.data() + block.flat, block, segment.weights.data() + block.begin,
                   rounding, clock);
    });
    estimator_->weights_changed();  // by the rounding
    return true;
  } else {
    return false;
  }
}

template <class T>
void Engine<T>::save(StateWriter& writer) const {
  if (!moment_.empty()) {
    WriteState write(writer);
    const_cast<ElementState<T>&>(moment_).visit("v", write);  // which only reads it
  }
  estimator_->save(writer);
}

template <class T>
void Engine<T>::load(StateReader& reader) {
  if (!moment_.empty()) {
    ReadState read(reader);
    moment_.visit("v", read);
  }
  estimator_->load(reader);
}

template class Engine<float>;
template class Engine<double>;

}  // namespace tandem
