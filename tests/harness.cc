// SPDX-License-Identifier: MIT
// Runs and comparisons behind the battery.
#include "tests/harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace tandem::testing {
namespace {

/// Tests run beside each other, and threads that wait for each other on a busy machine cost ten
/// times what they save. That threads change nothing is tested where they are asked for.
class SerialByDefault : public ::testing::Environment {
 public:
  void SetUp() override { set_default_executor(serial_executor()); }
};
[[maybe_unused]] const ::testing::Environment* const serial_by_default =
    ::testing::AddGlobalTestEnvironment(new SerialByDefault);

}  // namespace

std::size_t Layout::dimension() const {
  std::size_t d = 0;
  for (const Part& part : parts) d += part.size;
  return d;
}

std::vector<SegmentSpec> Layout::specs() const {
  std::vector<SegmentSpec> specs;
  for (const Part& part : parts) {
    SegmentSpec spec{.size = part.size, .weight_decay = part.weight_decay};
    if (part.rate)
      spec.lr = part.factor == 1 ? Schedule(*part.rate)
                                 : Schedule::exponential_epochs(*part.rate, part.factor);
    specs.push_back(spec);
  }
  return specs;
}

Layout one_part(std::size_t dimension, std::size_t offset) {
  return {.parts = {{.size = dimension}}, .offset = offset};
}

Layout many_parts(std::size_t dimension, std::size_t offset) {
  Layout layout{.parts = {}, .offset = offset};
  const std::size_t odd = dimension / 3 | 1;
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, odd, std::size_t{1}, odd})
    if (layout.dimension() + size < dimension) layout.parts.push_back({.size = size});
  layout.parts.push_back({.size = dimension - layout.dimension()});
  return layout;
}

Layout with_own_rates(Layout layout, double rate) {
  for (std::size_t k = 0; k < layout.parts.size(); ++k) {
    if (k % 3 == 0) layout.parts[k].rate = 0.5 * rate;
    if (k % 3 == 1) {
      layout.parts[k].rate = 0.8 * rate;
      layout.parts[k].factor = 0.9;
    }
    if (k % 2 == 0) layout.parts[k].weight_decay = 0.03;
  }
  return layout;
}

template <class T>
Model<T>::Model(const Layout& layout, std::span<const double> weights) : layout_(layout) {
  std::size_t next = 0;
  for (const Part& part : layout.parts) {
    weights_.emplace_back(layout.offset + part.size, T(0));
    gradients_.emplace_back(layout.offset + part.size, T(0));
    for (std::size_t i = 0; i < part.size; ++i)
      weights_.back()[layout.offset + i] = static_cast<T>(weights[next++]);
  }
}

template <class T>
void Model<T>::differentiate(const problems::Objective& problem, std::uint64_t step) {
  const std::vector<double> w = weights_as_double();
  std::vector<double> g(w.size());
  problem.stochastic_gradient(w, step, g);
  std::size_t next = 0;
  for (auto& part : gradients_)
    for (std::size_t i = layout_.offset; i < part.size(); ++i) part[i] = static_cast<T>(g[next++]);
}

template <class T>
std::vector<Segment<T>> Model<T>::segments() {
  std::vector<Segment<T>> segments;
  for (std::size_t k = 0; k < weights_.size(); ++k)
    segments.push_back({std::span(weights_[k]).subspan(layout_.offset),
                        std::span<const T>(gradients_[k]).subspan(layout_.offset)});
  return segments;
}

template <class T>
void Model<T>::apply(Optimizer& optimizer) {
  const std::vector<Segment<T>> parts = segments();
  if (parts.size() == 1) {
    optimizer.step(parts[0].weights, parts[0].gradient);
  } else {
    optimizer.step(std::span<const Segment<T>>(parts));
  }
}

template <class T>
void Model<T>::step(Optimizer& optimizer, const problems::Objective& problem, std::uint64_t step) {
  differentiate(problem, step);
  apply(optimizer);
}

template <class T>
std::vector<T> Model<T>::weights() const {
  std::vector<T> all;
  for (const auto& part : weights_)
    all.insert(all.end(), part.begin() + static_cast<std::ptrdiff_t>(layout_.offset), part.end());
  return all;
}

template <class T>
std::vector<double> Model<T>::weights_as_double() const {
  const std::vector<T> w = weights();
  return {w.begin(), w.end()};
}

template <class T>
void Model<T>::set_weights(std::span<const T> weights) {
  std::size_t next = 0;
  for (auto& part : weights_)
    for (std::size_t i = layout_.offset; i < part.size(); ++i) part[i] = weights[next++];
}

template <class T>
T& Model<T>::weight(std::size_t part, std::size_t index) {
  return weights_.at(part).at(layout_.offset + index);
}

template <class T>
T& Model<T>::gradient(std::size_t part, std::size_t index) {
  return gradients_.at(part).at(layout_.offset + index);
}

template <class T>
void advance(Optimizer& optimizer, Model<T>& model, const problems::Objective& problem, int first,
             int last) {
  for (int step = first; step <= last; ++step) {
    model.step(optimizer, problem, static_cast<std::uint64_t>(step));
    if (step % steps_per_epoch == 0) optimizer.epoch_end();
  }
}

template <class T>
Course course_of(Optimizer& optimizer, const problems::Objective& problem, const Layout& layout,
                 int steps, std::span<const double> start) {
  Course course;
  Model<T> model(layout, start);
  for (int step = 1; step <= steps; ++step) {
    advance(optimizer, model, problem, step, step);
    if (step % 50 != 0 && step != steps) continue;
    course.weights.push_back(model.weights_as_double());
    course.seen.push_back({.residual_norm = optimizer.last().residual_norm,
                           .gradient_norm = optimizer.last().gradient_norm,
                           .delta = optimizer.last().delta});
  }
  return course;
}

reference::Rates rates_of(const OptionSet& set, const Layout& layout, int step) {
  const int epoch = (step - 1) / steps_per_epoch;
  reference::Rates rates = set.rates(step, epoch);
  // A part's own rate is a rate, so `decay` moves it, too.
  const auto decay = set.options.find("decay");
  const double by = decay == set.options.end() ? 1.0 : std::pow(std::stod(decay->second), epoch);
  for (const Part& part : layout.parts) {
    const double lr = part.rate ? *part.rate * std::pow(part.factor, epoch) * by : rates.lr;
    rates.lr_each.insert(rates.lr_each.end(), part.size, lr);
  }
  return rates;
}

reference::RulePointer reference_of(const OptionSet& set, const Layout& layout) {
  reference::RulePointer rule = set.reference(layout.dimension());
  for (const Part& part : layout.parts)
    rule->update.weight_decay_each.insert(rule->update.weight_decay_each.end(), part.size,
                                          part.weight_decay.value_or(rule->update.weight_decay));
  return rule;
}

Course reference_course(const OptionSet& set, const problems::Objective& problem,
                        const Layout& layout, int steps, std::span<const double> start) {
  Course course;
  const reference::RulePointer rule = reference_of(set, layout);
  std::vector<double> w(start.begin(), start.end()), g(start.size());
  for (int step = 1; step <= steps; ++step) {
    problem.stochastic_gradient(w, static_cast<std::uint64_t>(step), g);
    rule->step(w, g, rates_of(set, layout, step));
    if (step % 50 != 0 && step != steps) continue;
    course.weights.push_back(w);
    course.seen.push_back(rule->last());
  }
  return course;
}

namespace {

double largest_of(std::span<const double> x) {
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  return largest;
}

double largest_distance(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::logic_error("difference: sizes differ");
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double distance = std::abs(x[i] - y[i]);
    if (!std::isfinite(distance)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, distance);
  }
  return largest;
}

}  // namespace

double difference(std::span<const double> x, std::span<const double> y) {
  const double size = largest_of(y);
  return largest_distance(x, y) / (size > 0 ? size : 1);
}

double difference(const Course& course, const Course& reference) {
  double largest = 0, size = 0;
  for (std::size_t k = 0; k < reference.weights.size(); ++k) {
    largest = std::max(largest, largest_distance(course.weights.at(k), reference.weights[k]));
    size = std::max(size, largest_of(reference.weights[k]));
  }
  return largest / size;
}

double diagnostics_difference(const Course& course, const Course& reference) {
  double largest = 0;
  const auto see = [&largest](double x, double y, double size) {
    const double distance = std::abs(x - y) / size;
    largest = std::isfinite(distance) ? std::max(largest, distance)
                                      : std::numeric_limits<double>::infinity();
  };
  for (std::size_t k = 0; k < reference.seen.size(); ++k) {
    const reference::Seen &x = course.seen.at(k), &y = reference.seen[k];
    see(x.residual_norm, y.residual_norm, y.gradient_norm + y.residual_norm);
    see(x.gradient_norm, y.gradient_norm, y.gradient_norm);
    see(x.delta, y.delta, y.delta);
  }
  return largest;
}

problems::Quadratic bowl_for(const Record& record, std::size_t dimension, std::uint64_t seed) {
  // Coordinates are uniform in [-scale, scale), so |w| is about scale sqrt(d / 3).
  const double scale =
      record.norm == 0 ? 1 : record.norm * std::sqrt(3.0 / static_cast<double>(dimension));
  return problems::Quadratic({.eigenvalues = problems::geometric_eigenvalues(dimension, 0.5, 2),
                              .seed = seed,
                              .scale = scale,
                              .noise = 0.2 * scale});
}

std::string saved(const Optimizer& optimizer) {
  std::ostringstream stream;
  optimizer.save(stream);
  return stream.str();
}

void load(Optimizer& optimizer, const std::string& bytes) {
  std::istringstream stream(bytes);
  optimizer.load(stream);
}

template class Model<float>;
template class Model<double>;
template void advance(Optimizer&, Model<float>&, const problems::Objective&, int, int);
template void advance(Optimizer&, Model<double>&, const problems::Objective&, int, int);
template Course course_of<float>(Optimizer&, const problems::Objective&, const Layout&, int,
                                 std::span<const double>);
template Course course_of<double>(Optimizer&, const problems::Objective&, const Layout&, int,
                                  std::span<const double>);

}  // namespace tandem::testing
