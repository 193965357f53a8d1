// SPDX-License-Identifier: MIT
#include "bench/step.h"

#include <fmt/format.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/parallel.h"
#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/memory.h"
#include "bench/peers.h"
#include "kernels/kernels.h"
#include "kernels/narrow_pass.h"

namespace tandem::bench {
namespace {

constexpr double kGiga = 1e9;

struct Bench {
  const StepOptions& options;
  std::shared_ptr<Executor> executor;
  const Report& report;
};

// ---- elementwise rules against `x += c*y`

struct Elementwise {
  const char* name;
  int state_arrays;
  double bytes_checked;  // a parameter, with the check that the gradient is finite
  double bytes;          // without
  bool target;           // 0.90 of the limit is asked for
};

constexpr Elementwise kElementwise[] = {
    {"sgd", 0, 16, 12, true},       {"momentum", 1, 24, 20, true}, {"adam", 2, 32, 28, true},
    {"diag-to", 2, 32, 28, true},   {"adam-to", 3, 40, 36, true},  {"ro-to", 3, 48, 48, true},
    {"nesterov", 1, 24, 20, false}, {"adagrad", 1, 24, 20, false}, {"rmsprop", 1, 24, 20, false},
    {"adamw", 2, 32, 28, false},    {"lion", 1, 24, 20, false},
};

void elementwise(const Bench& bench) {
  const std::size_t d = bench.options.parameters;
  Buffer<float> weights(d);
  Buffer<float> gradient(d);
  for (const Elementwise& rule : kElementwise) {
    for (const bool checked : {true, false}) {
      // ro-to finds out about the gradient in its gather phase, which reads weights, gradient and a
      if (!checked && rule.bytes == rule.bytes_checked) continue;
      fill_random(*bench.executor, weights.data(), d, 1, 0.1F);
      fill_random(*bench.executor, gradient.data(), d, 2, 0.1F);
      OptionMap options = {{"lr", "1e-6"}, {"on_nonfinite", checked ? "raise" : "ignore"}};
      // With the default |a|^2 |w|^2 soon overflows in so many dimensions, and ro-to would look for
      // the reason in the gradient.
      if (rule.name == std::string_view("ro-to")) options["alpha"] = "1e-9";
      auto optimizer = make_optimizer(rule.name, d, options);
      optimizer->set_executor(bench.executor);
      InPlaceLimit limit(*bench.executor,
                         (2 + static_cast<std::size_t>(rule.state_arrays)) * d * sizeof(float));
      const auto step = [&] { optimizer->step(weights.span(), gradient.span()); };
      step();
      limit.sweep(*bench.executor);
      double best = std::numeric_limits<double>::infinity();
      double best_limit = best;
      for (int round = 0; round < bench.options.rounds; ++round) {
        best_limit = std::min(best_limit, limit.sweep(*bench.executor));
        best = std::min(best, seconds_of(step));
      }
      const double bytes = (checked ? rule.bytes_checked : rule.bytes) * static_cast<double>(d);
      Row row{"elementwise",
              fmt::format("{}{}", rule.name, checked ? "" : ", unchecked"),
              "GB/s",
              bytes / best / kGiga,
              limit.bytes() / best_limit / kGiga,
              "x += c*y, same total size"};
      row.ratio = row.value / row.reference;
      if (checked && rule.target) {
        row.target = ">= 0.90";
        row.met = row.ratio >= 0.90;
      }
      bench.report.row(row);
    }
  }
}

// ---- the fused pass on state in bfloat16

struct NarrowRule {
  const char* name;
  kernels::EstimatorStage estimator;
  kernels::ScalingStage scaling;
};

/// The kernel alone: 12 bytes of weights and gradient, and 4 for each of two arrays of state.
void narrow_state(const Bench& bench) {
  constexpr double kBytes = 20;
  constexpr NarrowRule kRules[] = {
      {"adam", kernels::EstimatorStage::average, kernels::ScalingStage::second_moment},
      {"diag-to", kernels::EstimatorStage::diagonal, kernels::ScalingStage::none}};
  const std::size_t d = bench.options.parameters;
  Buffer<float> weights(d);
  Buffer<float> gradient(d);
  Buffer<BFloat16> first(d);
  Buffer<BFloat16> second(d);
  fill_random(*bench.executor, gradient.data(), d, 2, 0.1F);
  InPlaceLimit limit(*bench.executor, 3 * d * sizeof(float));
  for (const NarrowRule& rule : kRules) {
    for (const bool stochastic : {true, false}) {
      fill_random(*bench.executor, weights.data(), d, 1, 0.1F);
      const kernels::NarrowPass pass = kernels::narrow_pass(rule.estimator, rule.scaling);
      kernels::PassScalars<float> scalars;
      scalars.lr = 1e-6F;
      scalars.keep = 0.9F;
      scalars.take = 0.1F;
      scalars.alpha = 0.01F;
      scalars.beta = 0.1F;
      scalars.v_keep = 0.999F;
      scalars.v_take = 0.001F;
      scalars.v_eps = 1e-8F;
      std::uint64_t key = 0;
      const auto step = [&] {
        ++key;
        const std::size_t blocks = (d + kernels::kBlock - 1) / kernels::kBlock;
        parallel_ranges(*bench.executor, blocks, 8, [&](std::size_t begin, std::size_t end) {
          for (std::size_t block = begin; block < end; ++block) {
            const std::size_t at = block * kernels::kBlock;
            kernels::NarrowStreams streams;
            streams.weights = weights.data() + at;
            streams.gradient = gradient.data() + at;
            streams.first = first.data() + at;
            (rule.scaling == kernels::ScalingStage::none ? streams.second : streams.moment) =
                second.data() + at;
            kernels::PassSums sums;
            pass(streams, scalars, {stochastic, key * 0x9E3779B97F4A7C15ULL, at},
                 std::min(kernels::kBlock, d - at), &sums);
          }
        });
      };
      step();
      limit.sweep(*bench.executor);
      double best = std::numeric_limits<double>::infinity();
      double best_limit = best;
      for (int round = 0; round < bench.options.rounds; ++round) {
        best_limit = std::min(best_limit, limit.sweep(*bench.executor));
        best = std::min(best, seconds_of(step));
      }
      Row row{"bfloat16 state",
              fmt::format("{}'s pass, state in bfloat16{}", rule.name,
                          stochastic ? "" : ", to nearest"),
              "GB/s",
              kBytes * static_cast<double>(d) / best / kGiga,
              limit.bytes() / best_limit / kGiga,
              "x += c*y, same total size"};
      row.ratio = row.value / row.reference;
      if (stochastic) {
        row.target = ">= 0.80";
        row.met = row.ratio >= 0.80;
      }
      bench.report.row(row);
    }
  }
}

// ---- gradients that stay zero, until the state has decayed below the smallest normal number

struct Decaying {
  const char* name;
  OptionMap options;  // factors with which all of the state is below it after kDecaySteps
};

constexpr int kDecaySteps = 1000;

/// The best is a matter of luck where arrays nearly fit the cache.
double lower_quartile(std::vector<double> seconds) {
  const auto at = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
  std::nth_element(seconds.begin(), at, seconds.end());
  return *at;
}

/// A step with such a state in three quarters of the weights, against one with gradients in all.
void decayed(const Bench& bench) {
  const Decaying rules[] = {
      {"adam", {}},     {"adam", {{"beta2", "0.9"}}},    {"momentum", {}},
      {"nesterov", {}}, {"rmsprop", {{"beta2", "0.9"}}}, {"lion", {{"beta2", "0.9"}}},
      {"diag-to", {}},  {"adam-to", {{"beta2", "0.9"}}}, {"ro-to", {}}};
  const std::size_t d = bench.options.decayed;
  Buffer<float> weights(d);
  Buffer<float> gradient(d);
  for (const Decaying& rule : rules) {
    OptionMap options = rule.options;
    options["lr"] = "1e-6";
    fill_random(*bench.executor, weights.data(), d, 1, 0.1F);
    const auto optimizer = make_optimizer(rule.name, d, options);
    optimizer->set_executor(bench.executor);
    const auto step = [&] { optimizer->step(weights.span(), gradient.span()); };
    const auto time_steps = [&](std::vector<double>& seconds) {
      for (int round = 0; round < 10 * bench.options.rounds; ++round) {
        seconds.push_back(seconds_of(step));
      }
    };
    std::vector<double> ordinary;
    std::vector<double> zeros;
    // The same memory in turns: where arrays lie matters as much as other work on the machine.
    for (int turn = 0; turn < 3; ++turn) {
      fill_random(*bench.executor, gradient.data(), d, 2, 0.1F);
      for (int t = 0; t < 10; ++t) step();
      time_steps(ordinary);
      // Whole rows, as those of rare words.
      for (std::size_t i = 0; i < d; ++i) {
        if (i / 256 % 4 != 0) gradient[i] = 0;
      }
      for (int t = 0; t < kDecaySteps; ++t) step();
      time_steps(zeros);
    }
    std::string with;
    for (const auto& [name, value] : rule.options) with += fmt::format(", {} = {}", name, value);
    Row row{"decayed",
            fmt::format("{}{}, d = {}: state decayed to zero", rule.name, with, d),
            "ms",
            lower_quartile(zeros) * 1e3,
            lower_quartile(ordinary) * 1e3,
            "the same step with ordinary gradients"};
    row.ratio = row.value / row.reference;
    row.target = "<= 1.10";
    row.met = row.ratio <= 1.10;
    bench.report.row(row);
  }
}

// ---- Full-TO, dense

/// Whole periods of steps, so that the pass which adds the delayed updates is in them. Each step of
/// the period counts with its best time: other work on the machine spares no period as a whole.
class DensePeriod {
 public:
  DensePeriod(const Bench& bench, const FullTOOptions& options)
      : optimizer_(bench.options.dense, options) {
    optimizer_.set_executor(bench.executor);
  }
  void run(std::span<float> weights, std::span<const float> gradients) {
    for (std::size_t i = 0; i < best_.size(); ++i) {
      const auto gradient = gradients.subspan(i, weights.size());
      best_[i] = std::min(best_[i], seconds_of([&] { optimizer_.step(weights, gradient); }));
    }
  }
  /// Forgets the times so far.
  void restart() { best_.fill(std::numeric_limits<double>::infinity()); }
  /// Of a step.
  double seconds() const {
    return std::accumulate(best_.begin(), best_.end(), 0.0) / static_cast<double>(best_.size());
  }

 private:
  FullTO optimizer_;
  std::array<double, 64> best_ = {};
};

void full_dense(const Bench& bench) {
  const std::size_t d = bench.options.dense;
  Buffer<float> weights(d);
  Buffer<float> gradient(d + 64);
  fill_random(*bench.executor, weights.data(), d, 1, 0.1F);
  fill_random(*bench.executor, gradient.data(), d + 64, 2, 0.1F);
  const auto gradient_at = [&](int t) {
    return std::span<const float>(gradient.data() + t % 64, d);
  };

  double step_seconds = 0;
  double stochastic_seconds = 0;
  double nearest_seconds = 0;
  double read_seconds = std::numeric_limits<double>::infinity();
  {
    Buffer<float> matrix(d * d);
    fill_random(*bench.executor, matrix.data(), d * d, 3, 1.0F);
    FullTOOptions options{.lr = 1e-6, .alpha = 1e-6, .beta = 0.1, .form = Form::dense};
    DensePeriod full(bench, options);
    options.state = StateType::bfloat16;
    DensePeriod stochastic(bench, options);
    options.state_rounding = StateRounding::nearest;
    DensePeriod nearest(bench, options);
    for (DensePeriod* period : {&full, &stochastic, &nearest}) {
      // Until the first updates have reached it, the matrix is not read.
      for (int i = 0; i < 2; ++i) period->run(weights.span(), gradient.span());
      period->restart();
    }
    for (int round = 0; round < std::max(2, bench.options.rounds / 2); ++round) {
      for (int i = 0; i < 4; ++i) {
        read_seconds = std::min(read_seconds, read_pass(*bench.executor, matrix));
      }
      for (DensePeriod* period : {&full, &stochastic, &nearest}) {
        period->run(weights.span(), gradient.span());
      }
    }
    step_seconds = full.seconds();
    stochastic_seconds = stochastic.seconds();
    nearest_seconds = nearest.seconds();
  }
  Row row{"full-dense",
          fmt::format("full-to step, d = {}", d),
          "ms",
          step_seconds * 1e3,
          read_seconds * 1e3,
          "one read of A"};
  row.ratio = row.value / row.reference;
  row.target = "<= 1.25";
  row.met = row.ratio <= 1.25;
  bench.report.row(row);
  for (const bool is_stochastic : {true, false}) {
    Row narrow{
        "full-dense",
        fmt::format("full-to step, A in bfloat16{}, d = {}", is_stochastic ? "" : " to nearest", d),
        "ms",
        (is_stochastic ? stochastic_seconds : nearest_seconds) * 1e3,
        step_seconds * 1e3,
        "full-to step"};
    narrow.ratio = narrow.value / narrow.reference;
    if (is_stochastic) {
      narrow.target = "<= 0.60";
      narrow.met = narrow.ratio <= 0.60;
    }
    bench.report.row(narrow);
  }

  const auto blas = Blas::load(bench.executor->threads());
  if (!blas) {
    bench.report.note(
        "full-to against gemv + ger + gemv: skipped, no libopenblas.so.0 (Debian: "
        "libopenblas0-openmp)");
    return;
  }
  bench.report.note("BLAS: " + blas->description());
  Buffer<float> matrix(d * d);
  Buffer<float> b(d);
  Buffer<float> p(d);
  Buffer<float> r(d);
  int t = 0;
  const double textbook = best_seconds(bench.options.rounds, [&] {
    blas->textbook_full_step(matrix.data(), b.data(), weights.data(), gradient_at(t++).data(),
                             p.data(), r.data(), d, 1e-6F, 1e-6F, 0.1F);
  });
  Row peer{"full-dense",
           fmt::format("gemv + ger + gemv, d = {}", d),
           "ms",
           textbook * 1e3,
           step_seconds * 1e3,
           "full-to step"};
  peer.ratio = peer.value / peer.reference;
  peer.target = ">= 2.3";
  peer.met = peer.ratio >= 2.3;
  bench.report.row(peer);
}

// ---- Full-TO, span

void full_span(const Bench& bench) {
  const std::size_t d = bench.options.span;
  const std::size_t steps = bench.options.span_steps;
  constexpr std::size_t kFrom = 64;
  constexpr int kRuns = 6;
  if (steps <= kFrom) return;

  // Other work on the machine comes and goes within a run of seconds, so a read is timed beside
  // each step; it is of a buffer far larger than the caches and small beside the history.
  std::vector<double> ratios(steps - kFrom, std::numeric_limits<double>::infinity());
  reset_peak();
  for (int run = 0; run < kRuns; ++run) {
    Buffer<float> beside(std::size_t{1} << 25);
    fill_random(*bench.executor, beside.data(), beside.size(), 3, 1.0F);
    Buffer<float> weights(d);
    Buffer<float> gradient(d + steps);
    fill_random(*bench.executor, weights.data(), d, 1, 0.1F);
    fill_random(*bench.executor, gradient.data(), d + steps, 2, 0.1F);
    FullTO optimizer(
        d, {.lr = 1e-3, .alpha = 1e-6, .beta = 0.1, .form = Form::span, .max_steps = steps});
    optimizer.set_executor(bench.executor);
    for (std::size_t t = 0; t < steps; ++t) {
      const std::span<const float> g(gradient.data() + t, d);
      const auto step = [&] { optimizer.step(weights.span(), g); };
      if (t < kFrom) {
        step();
        continue;
      }
      const double rate = static_cast<double>(beside.bytes()) / read_pass(*bench.executor, beside);
      // The history, and M and X in double, half of each.
      const double state =
          static_cast<double>(t * d) * sizeof(float) + static_cast<double>(t * t) * sizeof(double);
      const double read = state / rate;
      ratios[t - kFrom] = std::min(ratios[t - kFrom], seconds_of(step) / read);
    }
  }
  const double peak = peak_bytes();
  std::sort(ratios.begin(), ratios.end());
  const std::string label = fmt::format("full-to as span, d = {}, steps {} to {}", d, kFrom, steps);
  for (const auto& [which, ratio] :
       {std::pair("median", ratios[ratios.size() / 2]), std::pair("largest", ratios.back())}) {
    Row row{"full-span", fmt::format("{}: {}", label, which), "x", ratio,
            1,           "one read of its state so far"};
    row.ratio = ratio;
    row.target = "<= 1.30";
    row.met = ratio <= 1.30;
    bench.report.row(row);
  }
  Row memory{
      "full-span",  fmt::format("peak memory of {} steps", steps),          "GB",
      peak / kGiga, static_cast<double>(steps * d) * sizeof(float) / kGiga, "the history alone"};
  memory.ratio = memory.value / memory.reference;
  if (d == 1'000'000 && steps == 500) {
    memory.target = "<= 2.2 GB";
    memory.met = memory.value <= 2.2;
  }
  bench.report.row(memory);
}

// ---- small problems

/// Counts how often somebody asks for threads.
class CountingExecutor : public Executor {
 public:
  int threads() const override { return 8; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    ++runs;
    for (std::size_t i = 0; i < count; ++i) task(i);
  }
  int runs = 0;
};

void small(const Bench& bench) {
  const std::size_t d = bench.options.small;
  constexpr int kSteps = 2000;
  Buffer<float> w(d);
  Buffer<float> g(d);
  Buffer<float> first(d);
  Buffer<float> second(d);
  auto counting = std::make_shared<CountingExecutor>();
  for (const std::string name : {"diag-to", "adam"}) {
    const auto start = [&] {
      fill_random(*bench.executor, w.data(), d, 1, 0.1F);
      fill_random(*bench.executor, g.data(), d, 2, 0.1F);
    };
    start();
    auto optimizer = make_optimizer(name, d, {{"lr", "1e-6"}});
    optimizer->set_executor(counting);
    const double ours = best_seconds(bench.options.rounds, [&] {
      for (int t = 0; t < kSteps; ++t) optimizer->step(w.span(), g.span());
    });
    start();
    int t = 0;
    const double plain = best_seconds(bench.options.rounds, [&] {
      for (int i = 0; i < kSteps; ++i) {
        ++t;
        if (name == "adam") {
          plain_adam(w.data(), g.data(), first.data(), second.data(), d, 1e-6F, 0.9F, 0.999F, 1e-8F,
                     t);
        } else {
          plain_diag_to(w.data(), g.data(), first.data(), second.data(), d, 1e-6F, 0.01F, 0.1F);
        }
      }
    });
    Row row{"small",
            fmt::format("{} step, d = {}", name, d),
            "ns",
            ours / kSteps * 1e9,
            plain / kSteps * 1e9,
            "the plain loop, -O3"};
    row.ratio = row.value / row.reference;
    row.target = "<= 3";
    row.met = row.ratio <= 3;
    bench.report.row(row);
  }
  bench.report.note(fmt::format("small problems asked for threads {} times", counting->runs));
}

}  // namespace

void run_step_bench(const StepOptions& options, const Report& report) {
  const Bench bench{options, pool_executor(options.threads), report};
  report.note(
      fmt::format("{} threads, {}, tandem {}", bench.executor->threads(), cpu_target(), version()));
  elementwise(bench);
  narrow_state(bench);
  decayed(bench);
  full_dense(bench);
  full_span(bench);
  small(bench);
}

}  // namespace tandem::bench
