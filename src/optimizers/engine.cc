// SPDX-License-Identifier: MIT
#include "optimizers/engine.h"

#include <fmt/format.h>
#include <tandem/errors.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/parallel.h"

namespace tandem {

template <class T>
Engine<T>::Engine(const detail::Recipe& recipe, const Layout& layout)
    : recipe_(recipe),
      layout_(layout),
      estimator_(make_estimator<T>(recipe, layout)),
      pass_(kernels_.pass(estimator_->stage(), recipe.scaling.stage)),
      sums_(layout.blocks()),
      scalars_(layout.segments()) {
  if (recipe.scaling.stage == kernels::ScalingStage::second_moment) {
    moment_ = Buffer<T>(layout.dimension());
    if (recipe.scaling.initial != 0) {
      std::fill(moment_.span().begin(), moment_.span().end(),
                static_cast<T>(recipe.scaling.initial));
    }
  }
}

template <class T>
template <class Body>
void Engine<T>::for_blocks(const Step<T>& step, const Body& body) const {
  parallel_ranges(
      step.executor, layout_.blocks(), kBlocksPerThread,
      [&](std::size_t first, std::size_t last) { layout_.for_blocks(first, last, body); });
}

template <class T>
double Engine<T>::lr_of(std::size_t segment, const Step<T>& step) const {
  const auto& own = recipe_.segments[segment].lr;
  return own ? own->at(step.clock) * step.rate_factor : step.lr;
}

template <class T>
double Engine<T>::shrink_of(std::size_t segment, double lr) const {
  return 1 - lr * recipe_.segments[segment].weight_decay.value_or(recipe_.weight_decay);
}

template <class T>
bool Engine<T>::step(std::span<const Segment<T>> segments, const Clock& clock, Executor& executor) {
  const double factor =
      recipe_.decay == 1 ? 1 : std::pow(recipe_.decay, static_cast<double>(clock.epoch));
  const double lr = recipe_.lr.at(clock) * factor;
  const Step<T> step{segments, layout_,    executor, clock,
                     factor,   recipe_.l2, lr,       1 - lr * recipe_.weight_decay};

  const bool vouched = estimator_->screen(step);
  if (recipe_.on_nonfinite != OnNonFinite::ignore && !vouched && !finite(step)) return false;

  kernels::PassScalars<T> scalars;
  scale_stage(step, scalars);
  estimator_->gather(step, scalars);
  run_pass(step, scalars);
  Outcome outcome{sums_};
  project(step, outcome);
  estimator_->finish(step, outcome);
  return true;
}

template <class T>
bool Engine<T>::finite(const Step<T>& step) const {
  // The first place by index, whichever thread finds one.
  std::atomic<std::size_t> first_bad{layout_.dimension()};
  const auto look = [&](const Layout::Block& block) {
    const T* gradient = step.segments[block.segment].gradient.data() + block.begin;
    const std::size_t at = kernels_.first_nonfinite(gradient, block.count);
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
                      layout_.for_runs(begin, last, kTogether, look);
                      last = begin;
                    }
                  });
  const std::size_t flat = first_bad.load();
  if (flat == layout_.dimension()) return true;
  if (recipe_.on_nonfinite == OnNonFinite::skip) return false;
  std::size_t segment = 0;
  while (flat >= layout_.offset(segment) + layout_.size(segment)) ++segment;
  const std::size_t index = flat - layout_.offset(segment);
  const double value = static_cast<double>(step.segments[segment].gradient[index]);
  throw NonFiniteGradient(
      fmt::format("{}: the gradient of segment {} is {} at index {} in step {}; weights and state "
                  "are unchanged",
                  recipe_.name, segment, value, index, step.clock.step),
      segment, index);
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
void Engine<T>::run_pass(const Step<T>& step, const kernels::PassScalars<T>& common) {
  for (std::size_t s = 0; s < scalars_.size(); ++s) {
    const double lr = lr_of(s, step);
    scalars_[s] = common;
    scalars_[s].lr = static_cast<T>(lr);
    scalars_[s].shrink = static_cast<T>(shrink_of(s, lr));
    scalars_[s].l2 = static_cast<T>(recipe_.l2);
  }
  const kernels::PassStreams<T> base = estimator_->streams();
  const auto shifted = [](auto* stream, std::size_t by) {
    return stream == nullptr ? nullptr : stream + by;
  };
  const auto pass = [&](const Layout::Block& block) {
    const Segment<T>& segment = step.segments[block.segment];
    const kernels::PassStreams<T> streams{
        segment.weights.data() + block.begin, segment.gradient.data() + block.begin,
        shifted(base.given, block.flat),      shifted(base.first, block.flat),
        shifted(base.second, block.flat),     shifted(base.third, block.flat),
        shifted(moment_.data(), block.flat),  shifted(estimate_.data(), block.flat)};
    pass_(streams, scalars_[block.segment], block.count, &sums_[block.index]);
  };
  const std::size_t together = kernels::sums_up(estimator_->stage()) ? 1 : layout_.blocks();
  parallel_ranges(
      step.executor, layout_.blocks(), kBlocksPerThread,
      [&](std::size_t first, std::size_t last) { layout_.for_runs(first, last, together, pass); });
}

template <class T>
void Engine<T>::project(const Step<T>& step, Outcome& outcome) const {
  const Projection& projection = recipe_.projection;
  const auto part = [&](const Layout::Block& block) {
    return step.segments[block.segment].weights.data() + block.begin;
  };
  if (projection.kind() == Projection::Kind::box) {
    const auto low = static_cast<T>(projection.low());
    const auto high = static_cast<T>(projection.high());
    for_blocks(step, [&](const Layout::Block& block) {
      kernels_.clamp(part(block), block.count, low, high);
    });
    outcome.boxed = true;
  } else if (projection.kind() == Projection::Kind::ball) {
    std::vector<double> squares(layout_.blocks());
    for_blocks(step, [&](const Layout::Block& block) {
      squares[block.index] = kernels_.dot(part(block), part(block), block.count);
    });
    double norm = 0;
    for (const double square : squares) norm += square;
    norm = std::sqrt(norm);
    // Weights that are not finite stay as they are: a diverged run must be seen.
    if (!(norm > projection.radius()) || !std::isfinite(norm)) return;
    outcome.scaled = projection.radius() / norm;
    const auto factor = static_cast<T>(outcome.scaled);
    for_blocks(step, [&](const Layout::Block& block) {
      kernels_.scale(part(block), block.count, factor);
    });
  }
}

template <class T>
void Engine<T>::save(StateWriter& writer) const {
  if (!moment_.empty()) writer.array("v", moment_.span());
  estimator_->save(writer);
}

template <class T>
void Engine<T>::load(StateReader& reader) {
  if (!moment_.empty()) reader.array("v", moment_.span());
  estimator_->load(reader);
}

template class Engine<float>;
template class Engine<double>;

}  // namespace tandem
