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
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/memory.h"
#include "bench/peers.h"

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
  std::string name;
  std::size_t state_arrays = 0;
  double bytes_checked = 0;  // a parameter, with the check that the gradient is finite
  double bytes = 0;          // without
};

/// All rules whose state is arrays like the weights: weights and state are read and written, the
/// gradient is read, and once more for the check.
std::vector<Elementwise> elementwise_rules() {
  std::vector<Elementwise> rules;
  for (const OptimizerInfo& info : optimizer_infos()) {
    const auto arrays = [&](std::string_view shape) {
      return static_cast<std::size_t>(
          std::count_if(info.arrays.begin(), info.arrays.end(),
                        [&](const StateInfo& array) { return array.shape == shape; }));
    };
    if (arrays("other") > 0) continue;
    const std::size_t count = arrays("like_weights");
    const double bytes = 12 + 8 * static_cast<double>(count);
    Elementwise rule{info.name, count, bytes + 4, bytes};
    // It finds out about the gradient in its gather phase, which reads weights, gradient and a.
    if (info.name == "ro-to") rule.bytes = rule.bytes_checked = bytes + 12;
    rules.push_back(rule);
  }
  return rules;
}

/// Memory of a model, and how fast a rule steps over it.
class SteppedModel {
 public:
  explicit SteppedModel(const Bench& bench)
      : bench_(bench), weights_(bench.options.parameters), gradient_(bench.options.parameters) {}

  /// A row: bytes that a step moves in a second, `bytes` a weight, beside `x += c*y` on as much memory
  /// as the rule has, `held` bytes a weight. A `target` of 0 is none.
  void measure(const std::string& group, const std::string& label, const std::string& rule,
               const OptionMap& options, double bytes, std::size_t held, double target) {
    const std::size_t d = weights_.size();
    fill_random(*bench_.executor, weights_.data(), d, 1, 0.1F);
    fill_random(*bench_.executor, gradient_.data(), d, 2, 0.1F);
    auto optimizer = make_optimizer(rule, d, options);
    optimizer->set_executor(bench_.executor);
    InPlaceLimit limit(*bench_.executor, held * d);
    const auto step = [&] { optimizer->step(weights_.span(), gradient_.span()); };
    step();
    limit.sweep(*bench_.executor);
    double best = std::numeric_limits<double>::infinity();
    double best_limit = best;
    for (int round = 0; round < bench_.options.rounds; ++round) {
      best_limit = std::min(best_limit, limit.sweep(*bench_.executor));
      best = std::min(best, seconds_of(step));
    }
    Row row{group,
            label,
            "GB/s",
            bytes * static_cast<double>(d) / best / kGiga,
            limit.bytes() / best_limit / kGiga,
            "x += c*y, same total size"};
    row.ratio = row.value / row.reference;
    if (target > 0) {
      row.target = fmt::format(">= {:.2f}", target);
      row.met = row.ratio >= target;
    }
    bench_.report.row(row);
  }

 private:
  const Bench& bench_;
  Buffer<float> weights_;
  Buffer<float> gradient_;
};

void elementwise(const Bench& bench) {
  SteppedModel model(bench);
  for (const Elementwise& rule : elementwise_rules()) {
    OptionMap options = {{"lr", "1e-6"}};
    // With the default |a|^2 |w|^2 soon overflows in so many dimensions, and ro-to would look for
    // the reason in the gradient.
    if (rule.name == "ro-to") options["alpha"] = "1e-9";
    const std::size_t held = (2 + rule.state_arrays) * sizeof(float);
    model.measure("elementwise", rule.name, rule.name, options, rule.bytes_checked, held, 0.90);
    if (rule.bytes == rule.bytes_checked) continue;
    options["on_nonfinite"] = "ignore";
    model.measure("elementwise", rule.name + ", unchecked", rule.name, options, rule.bytes, held,
                  0);
  }
}

// ---- the same with state in bfloat16

void narrow_state(const Bench& bench) {
  SteppedModel model(bench);
  for (const Elementwise& rule : elementwise_rules()) {
    if (rule.name != "adam" && rule.name != "diag-to") continue;
    // Arrays of state take half.
    const double saved = 4 * static_cast<double>(rule.state_arrays);
    const std::size_t held = 2 * sizeof(float) + rule.state_arrays * sizeof(BFloat16);
    const OptionMap narrow = {{"lr", "1e-6"}, {"state", "bfloat16"}};
    OptionMap unchecked = narrow;
    unchecked["on_nonfinite"] = "ignore";
    OptionMap nearest = unchecked;
    nearest["state_rounding"] = "nearest";
    const std::string label = rule.name + ", state in bfloat16";
    const auto row = [&](const std::string& more, const OptionMap& options, double bytes,
                         double target) {
      model.measure("bfloat16 state", label + more, rule.name, options, bytes - saved, held,
                    target);
    };
    row("", narrow, rule.bytes_checked, 0.80);
    row(", unchecked", unchecked, rule.bytes, 0.80);
    row(", unchecked, to nearest", nearest, rule.bytes, 0);
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
  const std::size_t d = std::min(bench.options.decayed, bench.options.parameters);
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
