// SPDX-License-Identifier: MIT
// The face of all optimizers.
#include <tandem/optimizer.h>
#include <tandem/registry.h>

#include <cmath>
#include <utility>

#include "optimizers/stepper.h"

namespace tandem {

Optimizer::Optimizer(detail::Recipe&& recipe)
    : stepper_(std::make_unique<detail::Stepper>(std::move(recipe))) {}
Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;

void Optimizer::step(std::span<float> weights, std::span<const float> gradient) {
  const Segment<float> segment{weights, gradient};
  stepper_->step(std::span<const Segment<float>>(&segment, 1));
}
void Optimizer::step(std::span<double> weights, std::span<const double> gradient) {
  const Segment<double> segment{weights, gradient};
  stepper_->step(std::span<const Segment<double>>(&segment, 1));
}
void Optimizer::step(std::span<const Segment<float>> segments) { stepper_->step(segments); }
void Optimizer::step(std::span<const Segment<double>> segments) { stepper_->step(segments); }
void Optimizer::step(std::span<const Segment<BFloat16>> segments, const Rounding& rounding) {
  stepper_->step(segments, rounding);
}

void Optimizer::prepare(std::span<const Segment<float>> segments) { stepper_->prepare(segments); }
void Optimizer::prepare(std::span<const Segment<double>> segments) { stepper_->prepare(segments); }
void Optimizer::prepare(std::span<const Segment<BFloat16>> segments) {
  stepper_->prepare(segments);
}

GatheredSums Optimizer::gather(std::span<const Segment<float>> segments) {
  return stepper_->gather(segments);
}
GatheredSums Optimizer::gather(std::span<const Segment<double>> segments) {
  return stepper_->gather(segments);
}
GatheredSums Optimizer::gather(std::span<const Segment<BFloat16>> segments) {
  return stepper_->gather(segments);
}
void Optimizer::apply(std::span<const Segment<float>> segments, const GatheredSums& totals) {
  stepper_->apply(segments, totals);
}
void Optimizer::apply(std::span<const Segment<double>> segments, const GatheredSums& totals) {
  stepper_->apply(segments, totals);
}
void Optimizer::apply(std::span<const Segment<BFloat16>> segments, const GatheredSums& totals,
                      const Rounding& rounding) {
  stepper_->apply(segments, totals, rounding);
}

std::vector<StateNeed> Optimizer::state_needs(ElementType weights,
                                              std::span<const StateMemory> memory) const {
  return stepper_->state_needs(weights, memory);
}
void Optimizer::use_memory(ElementType weights, std::span<const StateMemory> memory, bool start) {
  stepper_->use_memory(weights, memory, start);
}

void Optimizer::epoch_end() { stepper_->epoch_end(); }
void Optimizer::weights_changed() { stepper_->weights_changed(); }

const std::string& Optimizer::name() const { return stepper_->recipe().name; }
std::size_t Optimizer::dimension() const { return stepper_->layout().dimension(); }
Clock Optimizer::clock() const { return stepper_->clock(); }
double Optimizer::lr() const {
  const detail::Recipe& recipe = stepper_->recipe();
  const Clock clock = stepper_->clock();
  return recipe.lr.at(clock) * std::pow(recipe.decay, static_cast<double>(clock.epoch));
}
void Optimizer::set_rate(std::string_view option, const Schedule& rate) {
  stepper_->set_rate(option, rate);
}
void Optimizer::set_decay(std::string_view option, double value) {
  stepper_->set_decay(option, value);
}
void Optimizer::set_segment(std::size_t segment, const SegmentSpec& spec) {
  stepper_->set_segment(segment, spec);
}
void Optimizer::set_options(const std::vector<SegmentSpec>& segments,
                            const std::map<std::string, std::string>& options) {
  const std::unique_ptr<Optimizer> other = make_optimizer(name(), segments, options);
  stepper_->set_recipe(std::move(*other->stepper_).take_recipe());
}

std::size_t Optimizer::state_bytes() const { return stepper_->state_bytes(); }
std::size_t Optimizer::workspace_bytes() const { return stepper_->workspace_bytes(); }
std::size_t Optimizer::most_bytes(std::size_t steps) const { return stepper_->most_bytes(steps); }
std::uint64_t Optimizer::skipped_steps() const { return stepper_->skipped(); }
const Diagnostics& Optimizer::last() const { return stepper_->last(); }
void Optimizer::keep_estimate(bool keep) { stepper_->keep_estimate(keep); }
std::vector<double> Optimizer::last_estimate() const { return stepper_->last_estimate(); }

void Optimizer::save(std::ostream& stream) const { stepper_->save(stream); }
void Optimizer::load(std::istream& stream) { stepper_->load(stream); }
void Optimizer::set_executor(std::shared_ptr<Executor> executor) {
  stepper_->set_executor(std::move(executor));
}

}  // namespace tandem
