// SPDX-License-Identifier: MIT
// Records of the trainable optimizers.
#include <algorithm>
#include <cmath>

#include "tests/records.h"

namespace tandem::testing {
namespace {

using reference::Rates;
using reference::Trained;
using reference::Update;

std::size_t dimension_of(const std::vector<SegmentSpec>& segments) {
  std::size_t d = 0;
  for (const SegmentSpec& segment : segments) d += segment.size;
  return d;
}

/// Starting values without a pattern that a wrong index would hide.
std::vector<double> wave(std::size_t size, double height, double phase) {
  std::vector<double> x(size);
  for (std::size_t i = 0; i < size; ++i)
    x[i] = height * std::cos(phase + 1.7 * static_cast<double>(i));
  return x;
}

// Each rate with another schedule; what they are at (t, epoch) is written beside the text.
const OptionMap varying = {
    {"lr", "0.1*0.97^epoch"}, {"alpha", "5/(t+100)"}, {"beta", "warmup(10)*0.3"}};
Rates varying_at(double t, double e) {
  return {
      .lr = 0.1 * std::pow(0.97, e), .alpha = 5 / (t + 100), .beta = 0.3 * std::min(1.0, t / 10)};
}

const OptionMap decayed = {{"lr", "0.1"},
                           {"alpha", "0.05"},
                           {"beta", "0.2"},
                           {"decay", "0.98"},
                           {"l2", "0.01"},
                           {"weight_decay", "0.02"},
                           {"projection", "ball(0.9)"}};
Rates decayed_at(double, double e) {
  const double by = std::pow(0.98, e);
  return {.lr = 0.1 * by, .alpha = 0.05 * by, .beta = 0.2 * by};
}
const Update decayed_update = {.l2 = 0.01, .weight_decay = 0.02, .radius = 0.9};

const OptionMap normalized = {{"lr", "0.1*cosine(t/400)"}, {"alpha", "0.4*0.9^(t/100)"},
                              {"beta", "60/(t+200)"},      {"normalize", "true"},
                              {"normalize_eps", "0.05"},   {"projection", "box(-0.5, 0.75)"}};
Rates normalized_at(double t, double) {
  return {.lr = 0.1 * 0.5 * (1 + std::cos(std::acos(-1.0) * (t - 1) / 400)),
          .alpha = 0.4 * std::pow(0.9, t / 100),
          .beta = 60 / (t + 200)};
}
const Update box_update = {.low = -0.5, .high = 0.75};
const Trained normalized_trained = {.normalize = true, .normalize_eps = 0.05};

/// 5 / (t + 100)^2 and cosines over epochs, which the sets above leave out.
const OptionMap theorem = {{"lr", "warmup(7)*0.2*cosine(epoch/30, 0.1)"},
                           {"alpha", "800/(t+100)^2"},
                           {"beta", "25/(t+50)"}};
Rates theorem_at(double t, double e) {
  const double cosine = 0.1 + 0.9 * 0.5 * (1 + std::cos(std::acos(-1.0) * e / 30));
  return {.lr = std::min(1.0, t / 7) * 0.2 * cosine,
          .alpha = 800 / ((t + 100) * (t + 100)),
          .beta = 25 / (t + 50)};
}

const Rates started_rates = {.lr = 0.05, .alpha = 0.05, .beta = 0.2};
Rates started_at(double, double) { return started_rates; }

OptionMap with(OptionMap options, const OptionMap& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

}  // namespace

Record full_to_record() {
  Record record{.name = "full-to", .trainable = true, .norm = 1.3, .largest = 600};
  const auto plain = [](std::size_t d) { return reference::full_to(d, {}); };
  const auto ball = [](std::size_t d) { return reference::full_to(d, {.radius = 0.9}); };
  const auto all = [](std::size_t d) { return reference::full_to(d, decayed_update); };
  const auto boxed = [](std::size_t d) {
    return reference::full_to(d, box_update, normalized_trained);
  };
  record.sets = {
      {"dense", with(varying, {{"form", "dense"}}), varying_at, plain},
      {"span", with(varying, {{"form", "span"}}), varying_at, plain, {}, false},
      {"automatic", varying, varying_at, plain},
      {"automatic_theorem", theorem, theorem_at, plain},
      {"dense_all", with(decayed, {{"form", "dense"}}), decayed_at, all, {}, true, false},
      {"automatic_all", decayed, decayed_at, all, {}, true, false},
      {"span_ball",
       with(varying, {{"form", "span"}, {"projection", "ball(0.9)"}}),
       varying_at,
       ball,
       {},
       false},
      {"normalized_box", normalized, normalized_at, boxed},
      {"automatic_normalized", with(normalized, {{"projection", "none"}}), normalized_at,
       [](std::size_t d) { return reference::full_to(d, {}, normalized_trained); }},
  };
  record.sets.push_back(
      {.label = "started",
       .rates = started_at,
       .reference =
           [](std::size_t d) {
             return reference::full_to(
                 d, {},
                 {.initial_A = wave(d * d, 0.5 / std::sqrt(static_cast<double>(d)), 1),
                  .initial_b = wave(d, 0.2, 2)});
           },
       .make = [](const std::vector<SegmentSpec>& segments) -> std::unique_ptr<Optimizer> {
         const std::size_t d = dimension_of(segments);
         return std::make_unique<FullTO>(
             segments,
             FullTOOptions{.lr = started_rates.lr,
                           .alpha = started_rates.alpha,
                           .beta = started_rates.beta,
                           .initial_A = wave(d * d, 0.5 / std::sqrt(static_cast<double>(d)), 1),
                           .initial_b = wave(d, 0.2, 2)});
       }});
  record.errors = {{{{"form", "sparse"}}, {"form", "sparse", "dense", "span"}},
                   {{{"memory_limit", "-5"}}, {"memory_limit"}},
                   {{{"memory_limit", "much"}}, {"memory_limit", "much"}},
                   {{{"memory_limt", "5"}}, {"memory_limt", "memory_limit"}},
                   {{{"max_steps", "1.5"}}, {"max_steps"}}};
  record.state_bytes = [](std::size_t d) { return 4 * (d * d + d); };
  record.state_bytes_options = {{"form", "dense"}};
  record.quadratic = {{{"lr", "0.05"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 3000, 1e-10};
  record.rosenbrock = {{{"lr", "0.001"}, {"alpha", "0.05"}, {"beta", "0.5"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.5"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 3000, 1e-9};
  return record;
}

Record diag_to_record() {
  Record record{.name = "diag-to", .trainable = true};
  record.sets = {
      {"varying", varying, varying_at, [](std::size_t d) { return reference::diag_to(d, {}); }},
      {"all",
       decayed,
       decayed_at,
       [](std::size_t d) { return reference::diag_to(d, decayed_update); },
       {},
       true,
       false},
      {"theorem", theorem, theorem_at, [](std::size_t d) { return reference::diag_to(d, {}); }},
      {"normalized_box", normalized, normalized_at,
       [](std::size_t d) { return reference::diag_to(d, box_update, normalized_trained); }},
  };
  record.sets.push_back(
      {.label = "started",
       .rates = started_at,
       .reference =
           [](std::size_t d) {
             return reference::diag_to(
                 d, {}, {.initial_a = wave(d, 0.5, 1), .initial_b = wave(d, 0.5, 2)});
           },
       .make = [](const std::vector<SegmentSpec>& segments) -> std::unique_ptr<Optimizer> {
         const std::size_t d = dimension_of(segments);
         return std::make_unique<DiagonalTO>(segments,
                                             DiagonalTOOptions{.lr = started_rates.lr,
                                                               .alpha = started_rates.alpha,
                                                               .beta = started_rates.beta,
                                                               .initial_a = wave(d, 0.5, 1),
                                                               .initial_b = wave(d, 0.5, 2)});
       }});
  record.state_bytes = [](std::size_t d) { return 8 * d; };
  record.quadratic = {{{"lr", "0.05"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 3000, 1e-10};
  record.rosenbrock = {{{"lr", "0.001"}, {"alpha", "0.05"}, {"beta", "0.5"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.5"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 3000, 1e-9};
  return record;
}

Record ro_to_record() {
  Record record{.name = "ro-to", .trainable = true, .norm = 1.3};
  record.sets = {
      {"varying", varying, varying_at, [](std::size_t d) { return reference::ro_to(d, {}); }},
      {"all",
       decayed,
       decayed_at,
       [](std::size_t d) { return reference::ro_to(d, decayed_update); },
       {},
       true,
       false},
      {"theorem", theorem, theorem_at, [](std::size_t d) { return reference::ro_to(d, {}); }},
      // How delta is defined with normalised rates is the library's affair.
      {"normalized_box",
       normalized,
       normalized_at,
       [](std::size_t d) { return reference::ro_to(d, box_update, normalized_trained); },
       {},
       true,
       false},
  };
  record.sets.push_back(
      {.label = "started",
       .rates = started_at,
       .reference =
           [](std::size_t d) {
             const double one = 1 / std::sqrt(static_cast<double>(d));
             return reference::ro_to(d, {},
                                     {.initial_a = wave(d, 0.5 * one, 1),
                                      .initial_c = wave(d, one, 2),
                                      .initial_b = wave(d, 0.5 * one, 3)});
           },
       .make = [](const std::vector<SegmentSpec>& segments) -> std::unique_ptr<Optimizer> {
         const std::size_t d = dimension_of(segments);
         const double one = 1 / std::sqrt(static_cast<double>(d));
         return std::make_unique<RankOneTO>(segments,
                                            RankOneTOOptions{.lr = started_rates.lr,
                                                             .alpha = started_rates.alpha,
                                                             .beta = started_rates.beta,
                                                             .initial_a = wave(d, 0.5 * one, 1),
                                                             .initial_c = wave(d, one, 2),
                                                             .initial_b = wave(d, 0.5 * one, 3)});
       }});
  record.state_bytes = [](std::size_t d) { return 12 * d; };
  record.quadratic = {{{"lr", "0.05"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 3000, 1e-10};
  record.rosenbrock = {{{"lr", "0.001"}, {"alpha", "0.001"}, {"beta", "0.5"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.5"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 3000, 1e-9};
  return record;
}

Record block_to_record() {
  Record record{.name = "block-to", .trainable = true};
  // A block's |w|^2 is about block / 3, and delta must stay below 2.
  record.sets = {
      {"block_7", with(varying, {{"block", "7"}}), varying_at,
       [](std::size_t d) { return reference::block_to(d, 7, {}); }},
      {"default_block_all",
       decayed,
       decayed_at,
       [](std::size_t d) { return reference::block_to(d, 16, decayed_update); },
       {},
       true,
       false},
      {"block_3_theorem", with(theorem, {{"block", "3"}}), theorem_at,
       [](std::size_t d) { return reference::block_to(d, 3, {}); }},
      {"block_100_normalized_box", with(normalized, {{"block", "100"}}), normalized_at,
       [](std::size_t d) { return reference::block_to(d, 100, box_update, normalized_trained); }},
  };
  record.errors = {{{{"block", "0"}}, {"block"}},
                   {{{"block", "-1"}}, {"block"}},
                   {{{"block", "2.5"}}, {"block", "2.5"}},
                   {{{"blok", "4"}}, {"blok", "block"}}};
  record.state_bytes = [](std::size_t d) {
    const std::size_t rest = d % 16;
    return 4 * (d / 16 * 256 + rest * rest + d);
  };
  record.quadratic = {
      {{"lr", "0.05"}, {"alpha", "0.02"}, {"beta", "0.3"}, {"block", "4"}}, 3000, 1e-10};
  record.rosenbrock = {
      {{"lr", "0.001"}, {"alpha", "0.05"}, {"beta", "0.5"}, {"block", "2"}}, 60000, 1e-6};
  record.logistic = {
      {{"lr", "0.5"}, {"alpha", "0.02"}, {"beta", "0.3"}, {"block", "3"}}, 3000, 1e-9};
  return record;
}

Record adam_to_record() {
  Record record{.name = "adam-to", .trainable = true};
  const OptionMap slow = {{"lr", "0.01*0.97^epoch"}};
  const auto slower = [](double t, double e) {
    Rates rates = varying_at(t, e);
    rates.lr = 0.01 * std::pow(0.97, e);
    return rates;
  };
  record.sets = {
      {"varying", with(varying, slow), slower,
       [](std::size_t d) { return reference::adam_to(d, 0.999, 1e-8, {}); }},
      {"all",
       with(decayed, {{"lr", "0.01"}, {"beta2", "0.95"}, {"eps", "1e-4"}}),
       [](double t, double e) {
         Rates rates = decayed_at(t, e);
         rates.lr /= 10;
         return rates;
       },
       [](std::size_t d) { return reference::adam_to(d, 0.95, 1e-4, decayed_update); },
       {},
       true,
       false},
      {"normalized_box", with(normalized, {{"lr", "0.01*0.97^epoch"}}),
       [](double t, double e) {
         Rates rates = normalized_at(t, e);
         rates.lr = 0.01 * std::pow(0.97, e);
         return rates;
       },
       [](std::size_t d) {
         return reference::adam_to(d, 0.999, 1e-8, box_update, normalized_trained);
       }},
  };
  record.errors = {
      {{{"beta2", "1"}}, {"beta2"}}, {{{"beta2", "-0.1"}}, {"beta2"}}, {{{"eps", "-1"}}, {"eps"}}};
  record.state_bytes = [](std::size_t d) { return 12 * d; };
  record.quadratic = {{{"lr", "0.1*0.5^(t/300)"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 6000, 1e-10};
  record.rosenbrock = {
      {{"lr", "0.01*0.5^(t/4000)"}, {"alpha", "0.05"}, {"beta", "0.3"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.1*0.5^(t/300)"}, {"alpha", "0.02"}, {"beta", "0.3"}}, 6000, 1e-9};
  return record;
}

}  // namespace tandem::testing
