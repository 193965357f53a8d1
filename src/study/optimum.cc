// SPDX-License-Identifier: MIT
#include "study/optimum.h"

#include <fmt/format.h>
#include <lbfgs.h>
#include <tandem/errors.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>

#include "base/parallel.h"
#include "base/state_stream.h"
#include "kernels/kernels.h"

namespace tandem::study {
namespace {

const kernels::Kernels<double>& simd() { return kernels::kernels<double>(); }

// ---- F and its gradient -------------------------------------------------------------------------

/// Samples are cut into slots by their number alone, slots into chunks; each slot adds up its
/// chunks in order and the slots are added up in order, so that threads do not matter.
class Objective {
 public:
  Objective(const data::Dataset& data, double lambda, Executor& executor)
      : data_(data),
        lambda_(lambda),
        executor_(executor),
        row_((kChunk + simd().panel_width() - 1) / simd().panel_width() * simd().panel_width()),
        slots_(slot_count(data)) {
    const std::size_t packed = std::max(kernels::packed_size(simd(), data.features, kChunk),
                                        kernels::packed_size(simd(), kChunk, data.features));
    for (Slot& slot : slots_) {
      slot.gradient.resize(dimension());
      slot.logits.resize(data.classes * row_);
      if (data.sparse) continue;
      slot.chunk_gradient.resize(dimension());
      slot.features.resize(kChunk * data.features);
      slot.packed.resize(packed);
      for (std::size_t n = 0; n < kChunk; ++n) {
        slot.rows.push_back(slot.features.data() + n * data.features);
      }
    }
  }

  std::size_t dimension() const { return data_.classes * data_.features; }
  std::size_t evaluations() const { return evaluations_; }

  /// Returns F(w).
  double evaluate(const double* w, double* gradient) {
    ++evaluations_;
    executor_.run(slots_.size(), [&](std::size_t s) { evaluate_slot(s, w); });
    const auto samples = static_cast<double>(data_.rows);
    parallel_ranges(executor_, dimension(), 4096, [&](std::size_t first, std::size_t last) {
      std::fill(gradient + first, gradient + last, 0.0);
      for (const Slot& slot : slots_) {
        for (std::size_t i = first; i < last; ++i) gradient[i] += slot.gradient[i];
      }
      for (std::size_t i = first; i < last; ++i) {
        gradient[i] = gradient[i] / samples + lambda_ * w[i];
      }
    });
    double loss = 0;
    for (const Slot& slot : slots_) loss += slot.loss;
    const double square = simd().dot(w, w, dimension());
    return loss / samples + lambda_ / 2 * square;
  }

 private:
  // A chunk of a thousand features fits a cache of the second level.
  static constexpr std::size_t kChunk = 64;

  /// Enough for many threads; fewer where their gradients are large.
  static std::size_t slot_count(const data::Dataset& data) {
    constexpr std::size_t kMostWeights = 8'000'000;
    const std::size_t most =
        std::clamp<std::size_t>(kMostWeights / (data.classes * data.features), 8, 32);
    return std::clamp<std::size_t>(data.rows / kChunk, 1, most);
  }

  struct Slot {
    double loss = 0;
    std::vector<double> gradient;
    std::vector<double> logits;  // a row a class
    // For dense data:
    std::vector<double> chunk_gradient;
    std::vector<double> features;  // of the chunk
    std::vector<const double*> rows;
    std::vector<double> packed;
  };

  void evaluate_slot(std::size_t index, const double* w) {
    Slot& slot = slots_[index];
    slot.loss = 0;
    std::fill(slot.gradient.begin(), slot.gradient.end(), 0.0);
    const std::size_t end = (index + 1) * data_.rows / slots_.size();
    for (std::size_t n = index * data_.rows / slots_.size(); n < end; n += kChunk) {
      const std::size_t count = std::min(kChunk, end - n);
      if (data_.sparse) {
        sparse_logits(slot, n, count, w);
        to_coefficients(slot, n, count);
        add_sparse_gradient(slot, n, count);
      } else {
        dense_logits(slot, n, count, w);
        to_coefficients(slot, n, count);
        add_dense_gradient(slot, count);
      }
    }
  }

  void to_coefficients(Slot& slot, std::size_t first, std::size_t count) const {
    const std::uint32_t* labels = data_.labels.data() + first;
    slot.loss += simd().softmax_loss(slot.logits.data(), row_, data_.classes, labels, count).loss;
    simd().softmax_gradient(slot.logits.data(), row_, data_.classes, labels, count, 1.0);
  }

  void dense_logits(Slot& slot, std::size_t first, std::size_t count, const double* w) const {
    std::copy_n(data_.dense.data() + first * data_.features, count * data_.features,
                slot.features.data());
    simd().pack_transposed(slot.rows.data(), count, data_.features, slot.packed.data());
    simd().product(data_.classes, count, data_.features, w, data_.features, 1, slot.packed.data(),
                   slot.logits.data(), row_);
  }
  void add_dense_gradient(Slot& slot, std::size_t count) const {
    simd().pack(slot.rows.data(), count, data_.features, slot.packed.data());
    simd().product(data_.classes, data_.features, count, slot.logits.data(), row_, 1,
                   slot.packed.data(), slot.chunk_gradient.data(), data_.features);
    for (std::size_t i = 0; i < dimension(); ++i) slot.gradient[i] += slot.chunk_gradient[i];
  }

  void sparse_logits(Slot& slot, std::size_t first, std::size_t count, const double* w) const {
    for (std::size_t c = 0; c < data_.classes; ++c) {
      for (std::size_t n = 0; n < count; ++n) {
        double sum = 0;
        for (std::uint64_t k = data_.offsets[first + n]; k < data_.offsets[first + n + 1]; ++k) {
          sum += static_cast<double>(data_.values[k]) * w[c * data_.features + data_.columns[k]];
        }
        slot.logits[c * row_ + n] = sum;
      }
    }
  }
  void add_sparse_gradient(Slot& slot, std::size_t first, std::size_t count) const {
    for (std::size_t c = 0; c < data_.classes; ++c) {
      double* gradient = slot.gradient.data() + c * data_.features;
      for (std::size_t n = 0; n < count; ++n) {
        const double coefficient = slot.logits[c * row_ + n];
        for (std::uint64_t k = data_.offsets[first + n]; k < data_.offsets[first + n + 1]; ++k) {
          gradient[data_.columns[k]] += coefficient * static_cast<double>(data_.values[k]);
        }
      }
    }
  }

  const data::Dataset& data_;
  double lambda_;
  Executor& executor_;
  std::size_t row_;  // of logits
  std::vector<Slot> slots_;
  std::size_t evaluations_ = 0;
};

// ---- the search ---------------------------------------------------------------------------------

struct FreeLbfgs {
  void operator()(double* x) const { lbfgs_free(x); }
};

double norm(std::span<const double> x) {
  return std::sqrt(simd().dot(x.data(), x.data(), x.size()));
}

/// One search after another from the best point so far.
///
/// Close to the optimum F changes by less than its own rounding, and line searches on its value
/// fail long before the gradient is at its rounding. From the second search on, the value is
/// therefore the difference from the point where the search began, by the trapezoidal rule:
///     F(w) - F(v) = (grad F(w) + grad F(v)) . (w - v) / 2 + O(|w - v|^3)
class Search {
 public:
  Search(Objective& objective, double tolerance, std::size_t most_iterations)
      : objective_(objective),
        tolerance_(tolerance),
        most_iterations_(most_iterations),
        best_(objective.dimension()),
        best_gradient_(objective.dimension()) {
    best_loss_ = objective_.evaluate(best_.data(), best_gradient_.data());
    best_norm_ = norm(best_gradient_);
  }

  Optimum run() {
    double before = std::numeric_limits<double>::infinity();
    // A search that does not take a tenth off the gradient was the last one.
    while (best_norm_ > tolerance_ && best_norm_ < 0.9 * before && iterations_ < most_iterations_) {
      before = best_norm_;
      search();
      by_difference_ = true;
    }
    return {.loss = best_loss_,
            .gradient_norm = best_norm_,
            .weights = best_,
            .iterations = iterations_,
            .evaluations = objective_.evaluations(),
            .converged = best_norm_ <= tolerance_};
  }

 private:
  void search() {
    const auto size = static_cast<int>(best_.size());
    const std::unique_ptr<double, FreeLbfgs> x(lbfgs_malloc(size));
    if (x == nullptr) throw std::bad_alloc();
    std::copy(best_.begin(), best_.end(), x.get());
    start_ = best_;
    start_gradient_ = best_gradient_;
    lbfgs_parameter_t parameters;
    lbfgs_parameter_init(&parameters);
    parameters.m = 20;
    parameters.epsilon = 0;  // progress() says when it is enough
    parameters.gtol = 0.5;
    parameters.max_linesearch = 20;
    const int result = lbfgs(size, x.get(), nullptr, evaluate, progress, this, &parameters);
    if (result == LBFGSERR_OUTOFMEMORY) throw std::bad_alloc();
  }

  static double evaluate(void* self, const double* w, double* gradient, int, double) {
    Search& search = *static_cast<Search*>(self);
    const double loss = search.objective_.evaluate(w, gradient);
    search.last_loss_ = loss;
    if (!search.by_difference_) return loss;
    double difference = 0;
    for (std::size_t i = 0; i < search.start_.size(); ++i) {
      difference += (gradient[i] + search.start_gradient_[i]) * (w[i] - search.start_[i]);
    }
    return difference / 2;
  }

  /// After each iteration, whose last evaluation was at w.
  static int progress(void* self, const double* w, const double* gradient, double, double, double,
                      double, int size, int, int) {
    Search& search = *static_cast<Search*>(self);
    ++search.iterations_;
    const auto count = static_cast<std::size_t>(size);
    const double gradient_norm = norm({gradient, count});
    // The value while it tells, then the gradient.
    if (search.by_difference_ ? gradient_norm < search.best_norm_
                              : search.last_loss_ <= search.best_loss_) {
      search.best_.assign(w, w + count);
      search.best_gradient_.assign(gradient, gradient + count);
      search.best_loss_ = search.last_loss_;
      search.best_norm_ = gradient_norm;
    }
    return search.best_norm_ <= search.tolerance_ || search.iterations_ >= search.most_iterations_
               ? 1
               : 0;
  }

  Objective& objective_;
  double tolerance_;
  std::size_t most_iterations_;
  std::size_t iterations_ = 0;
  bool by_difference_ = false;
  std::vector<double> best_, best_gradient_;
  double best_loss_ = 0;
  double best_norm_ = 0;
  std::vector<double> start_, start_gradient_;
  double last_loss_ = 0;
};

void check_number(const char* name, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw std::invalid_argument(
      fmt::format("Invalid {}: {}, expected a number that is 0 or more", name, value));
}

}  // namespace

Optimum find_optimum(const data::Task& task, double lambda, double tolerance, Executor& executor,
                     std::size_t most_iterations) {
  check_number("lambda", lambda);
  check_number("tolerance", tolerance);
  const data::Dataset& data = task.train;
  if (data.rows == 0 || data.classes * data.features == 0) {
    throw std::invalid_argument("No optimum: the task has no samples or no features");
  }
  const std::size_t most = std::numeric_limits<int>::max() - 64;
  if (data.classes * data.features > most) {
    throw std::invalid_argument(fmt::format("No optimum: {} x {} weights are more than {}",
                                            data.classes, data.features, most));
  }
  Objective objective(data, lambda, executor);
  return Search(objective, tolerance, most_iterations).run();
}

void save_optimum(std::ostream& stream, const data::Task& task, double lambda,
                  const Optimum& optimum) {
  StateWriter writer(stream);
  writer.text("kind", "optimum of softmax regression");
  writer.count("task", task.train.fingerprint());
  writer.number("lambda", lambda);
  writer.number("loss", optimum.loss);
  writer.number("gradient_norm", optimum.gradient_norm);
  writer.count("iterations", optimum.iterations);
  writer.count("evaluations", optimum.evaluations);
  writer.count("converged", optimum.converged ? 1 : 0);
  writer.array("weights", optimum.weights);
  writer.finish();
}

Optimum load_optimum(std::istream& stream, const data::Task& task, double lambda) {
  StateReader reader(stream);
  if (const std::string kind = reader.text("kind"); kind != "optimum of softmax regression") {
    throw StateError(
        fmt::format("found a file of '{}', expected 'optimum of softmax regression'", kind));
  }
  if (const auto found = reader.count("task"); found != task.train.fingerprint()) {
    throw StateError(fmt::format("found the optimum of data {:016x}, expected {:016x}", found,
                                 task.train.fingerprint()));
  }
  if (const double found = reader.number("lambda"); found != lambda) {
    throw StateError(fmt::format("found an optimum with lambda {}, expected {}", found, lambda));
  }
  Optimum optimum;
  optimum.loss = reader.number("loss");
  optimum.gradient_norm = reader.number("gradient_norm");
  optimum.iterations = reader.count("iterations");
  optimum.evaluations = reader.count("evaluations");
  optimum.converged = reader.count("converged", 1) == 1;
  optimum.weights.resize(task.train.classes * task.train.features);
  reader.array("weights", optimum.weights);
  reader.finish();
  return optimum;
}

}  // namespace tandem::study
