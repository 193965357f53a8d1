// SPDX-License-Identifier: MIT
#include "paper/report/theory_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "base/atomic_file.h"
#include "report/markdown.h"
#include "report/render.h"

namespace tandem::paper {
namespace {

using report::Figure;
using report::Scale;
using report::Section;
using report::Style;
using report::Table;
using theory::Condition;
using theory::Experiment;
using theory::MethodResult;
using theory::Slope;
using Align = Table::Align;

// What the tests hold slopes to: the rate of the theorem, and none at all.
constexpr double kFalls = -0.85;
constexpr double kFlat = 0.1;
// A difference of curves below this part of their height cannot be seen in a figure.
constexpr double kUnseen = 0.05;

std::string number(double value) { return fmt::format("{:.5g}", value); }

std::string slope_text(const Slope& slope) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", slope.value, slope.low, slope.high);
}

std::string error_text(const theory::Interval& error) {
  return fmt::format("{:.2e} [{:.2e}, {:.2e}]", error.value, error.low, error.high);
}

// What the theorem bounds beside the estimate's error.
bool of_gradient(const Experiment& experiment) { return !experiment.facts.c; }
std::string first_error(const Experiment& experiment) {
  return of_gradient(experiment) ? "E|grad F(w_t)|^2" : "E|w_t - w*|^2";
}

const MethodResult& result_of(const Experiment& experiment, const std::string& name) {
  for (const MethodResult& result : experiment.results) {
    if (result.name == name) return result;
  }
  throw std::invalid_argument(
      fmt::format("theory: the experiment has no method '{}'; expected it as a control", name));
}

double largest_difference(const std::vector<double>& curve, const std::vector<double>& control) {
  double largest = 0;
  for (std::size_t k = 0; k < curve.size(); ++k) {
    largest = std::max(largest, std::abs(curve[k] / control[k] - 1));
  }
  return largest;
}

std::optional<Style> style_of_method(const std::string& name) {
  if (report::is_known(name)) return std::nullopt;
  if (name.starts_with("momentum")) return report::style_of("momentum");
  if (name == "adam, constant rate") return report::style_of("adam");
  if (name == "adam, rate 1/t") return report::style_of("adamw");
  if (name.starts_with("alpha = 0")) return report::style_of("svrg");
  return std::nullopt;
}

Figure error_figure(const TheoryRun& run, const std::string& what, const std::string& title,
                    const std::string& label, std::vector<double> theory::Curve::*errors) {
  const Experiment& experiment = run.experiment;
  std::vector<double> x;
  for (const std::uint64_t step : experiment.steps) {
    x.push_back(static_cast<double>(step) + experiment.rates.mu);
  }
  Figure figure;
  figure.name = fmt::format("theory-{}-{}", run.name, what);
  figure.title = fmt::format("{}: {}", title, run.title);
  figure.x = {"t + μ", Scale::log};
  figure.y = {label, Scale::log};
  for (const MethodResult& result : experiment.results) {
    figure.series.push_back({.label = result.name,
                             .x = x,
                             .y = result.curve.*errors,
                             .style = style_of_method(result.name)});
  }
  const theory::Curve bounds = bound_curves(experiment);
  if (!(bounds.*errors).empty()) {
    figure.series.push_back(
        {.label = of_gradient(experiment) ? "bound of the least so far" : "bound",
         .x = x,
         .y = bounds.*errors,
         .style = report::style_of("rmsprop")});
  }
  figure.caption = fmt::format("{} Curves that lie on each other look like one.", run.text);
  return figure;
}

/// How the estimates of those whose beta is constant fall, beside Full-TO's.
std::string about_constant_beta(const Experiment& experiment) {
  const Slope& full = result_of(experiment, "full-to").estimate;
  const std::vector<std::pair<const char*, const Slope*>> controls = {
      {"momentum with a constant beta", &result_of(experiment, "momentum, constant beta").estimate},
      {"Adam with a constant rate", &result_of(experiment, "adam, constant rate").estimate},
      {"Adam with a rate of 1/t", &result_of(experiment, "adam, rate 1/t").estimate}};
  std::vector<std::string> slopes;
  std::vector<std::string> not_flat;
  for (const auto& [name, slope] : controls) {
    slopes.push_back(fmt::format("{} for {}", slope_text(*slope), name));
    if (std::abs(slope->value) >= kFlat) not_flat.emplace_back(name);
  }
  std::string text =
      fmt::format("The estimate's error falls with the slope {} for Full-TO; it is {}",
                  slope_text(full), fmt::join(slopes, ", "));
  // Theorem 2 has no rate of the estimate but that of a logarithm.
  const double falls = experiment.facts.c ? kFalls : -kFlat;
  if (not_flat.empty() && full.value <= falls) {
    return text + ": with a constant beta it stays where it is, whatever the learning rate.";
  }
  if (!not_flat.empty()) {
    text += fmt::format(". Not flat within these steps: {}", fmt::join(not_flat, ", "));
  }
  if (full.value > falls) text += ". Full-TO is not at the theorem's rate within these steps";
  return text + ".";
}

}  // namespace

Table constants_table(const theory::Facts& facts, const theory::Rates& rates,
                      const std::string& smoothness) {
  const theory::Bounds bounds = theory::bounds(facts, rates);
  Table table({{"constant"}, {"value", Align::right}, {"what"}});
  table.add({"c", facts.c ? number(*facts.c) : "", "strong convexity"});
  table.add({"L", number(facts.L), "Lipschitz constant " + smoothness});
  table.add({"D_w", number(facts.D_w), "radius of the ball"});
  table.add({"D_G", number(facts.D_G), "bound of gradients in the ball"});
  table.add({"D_V", number(facts.D_V.value_or(facts.D_G * facts.D_G)),
             facts.D_V ? "bound of their variance" : "bound of their variance: D_G^2"});
  if (!facts.c) {
    table.add({"D_F", number(facts.D_F.value_or(2 * facts.D_w * facts.D_G)),
               facts.D_F ? "bound of F(w_1) - F" : "bound of F(w_1) - F: 2 D_w D_G"});
  }
  table.add({"gamma", number(rates.gamma), "gamma_t = gamma / (t + mu)"});
  table.add({"beta", number(rates.beta), "beta_t = beta / (t - 1 + mu)"});
  table.add({"alpha", number(rates.alpha), "alpha_t = alpha / (t - 1 + mu)^2"});
  table.add({"mu", number(rates.mu), ""});
  table.add({"theta", number(bounds.theta), "sum of alpha_t times D_w^2"});
  table.add({"D_b", number(bounds.D_b), "bound of |b_t|"});
  table.add({"D_A", number(bounds.D_A), "bound of |A_t|"});
  table.add({"D_hat", number(bounds.D_hat), "bound of |G_t|"});
  table.add({"Q", number(bounds.Q), "sqrt(D_A^2 + L^2)"});
  const auto error_bound = [&](const char* name, const std::optional<double>& value,
                               const char* what) {
    table.add({name, value ? number(*value) : "none",
               value ? what : fmt::format("Theorem {} does not hold", facts.c ? 1 : 2)});
  };
  if (facts.c) {
    error_bound("M1", bounds.M1, "E|w_t - w*|^2 <= M1 / (t + mu)");
    error_bound("M2", bounds.M2, "E|G_t - grad F|^2 <= M2 / (t + mu)");
  } else {
    error_bound("M3", bounds.M3,
                "least E|G_t - grad F|^2 up to T <= M3 / log((T + 1 + mu) / (1 + mu))");
    error_bound("M4", bounds.M4,
                "the same of E|grad F(w_t)|^2 while the ball is not reached, with M4");
  }
  return table;
}

Table conditions_table(const theory::Facts& facts, const theory::Rates& rates) {
  Table table({{facts.c ? "condition of Theorem 1" : "condition of Theorem 2"},
               {"left", Align::right},
               {"right", Align::right},
               {""}});
  for (const Condition& condition : theory::conditions(facts, rates)) {
    table.add({condition.name, number(condition.left), number(condition.right),
               condition.holds() ? "holds" : "fails"});
  }
  return table;
}

std::string verdict(const theory::Facts& facts, const theory::Rates& rates) {
  const char* theorem = facts.c ? "Theorem 1" : "Theorem 2";
  const std::vector<Condition> failed = theory::check(facts, rates);
  if (failed.empty()) return fmt::format("All conditions hold: {} does.", theorem);
  std::vector<std::string> texts;
  for (const Condition& condition : failed) texts.push_back(condition.text());
  return fmt::format("Outside {}: {}.", theorem, fmt::join(texts, "; "));
}

Table slopes_table(const Experiment& experiment) {
  Table table({{"method"},
               {"slope of " + first_error(experiment), Align::right},
               {"slope of E|G_t - grad F|^2", Align::right},
               {first_error(experiment) + " at the end", Align::right},
               {"E|G_t - grad F|^2", Align::right},
               {""}});
  for (const MethodResult& result : experiment.results) {
    table.add({result.name, slope_text(result.weights), slope_text(result.estimate),
               fmt::format("{:.2e}", result.curve.weights.back()),
               fmt::format("{:.2e}", result.curve.estimate.back()),
               result.certified ? "certified" : "outside the theorem"});
  }
  return table;
}

Table least_table(const Experiment& experiment) {
  Table table({{"method"},
               {"T", Align::right},
               {"least E|grad F(w_t)|^2", Align::right},
               {"times the log", Align::right},
               {"at most", Align::right},
               {"least E|G_t - grad F|^2", Align::right},
               {"times the log", Align::right},
               {"at most", Align::right}});
  const auto bound = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3g}", *value) : "";
  };
  for (const MethodResult& result : experiment.results) {
    if (!result.certified) continue;
    for (const theory::Least& least : result.least) {
      const double log = log_of_steps(experiment.rates, least.steps);
      table.add({result.name, std::to_string(least.steps), error_text(least.weights),
                 fmt::format("{:.2e}", least.weights.value * log), bound(experiment.bounds.M4),
                 error_text(least.estimate), fmt::format("{:.2e}", least.estimate.value * log),
                 bound(experiment.bounds.M3)});
    }
  }
  return table;
}

std::string reasons(const Experiment& experiment) {
  std::vector<std::pair<std::string, std::string>> lines;  // why, who
  for (const MethodResult& result : experiment.results) {
    const std::string why = fmt::format(
        "{}, {}", result.certified ? "certified" : "outside the theorem", result.reason);
    const auto found = std::find_if(lines.begin(), lines.end(),
                                    [&](const auto& line) { return line.first == why; });
    if (found == lines.end()) {
      lines.emplace_back(why, result.name);
    } else {
      found->second += "; " + result.name;
    }
  }
  std::string text;
  for (const auto& [why, who] : lines) {
    text += fmt::format("{}{}: {}.", text.empty() ? "" : "\n\n", who, why);
  }
  return text;
}

Controls compare_controls(const Experiment& experiment) {
  const theory::Curve& full = result_of(experiment, "full-to").curve;
  const theory::Curve& frozen = result_of(experiment, "alpha = 0, same beta_t").curve;
  const theory::Curve& momentum = result_of(experiment, "momentum, constant beta").curve;
  return {.weights_difference = largest_difference(full.weights, frozen.weights),
          .estimate_difference = largest_difference(full.estimate, frozen.estimate),
          .weights_ratio = momentum.weights.back() / full.weights.back(),
          .estimate_ratio = momentum.estimate.back() / full.estimate.back()};
}

std::string what_controls_show(const Experiment& experiment) {
  const Controls controls = compare_controls(experiment);
  const bool unseen = std::max(controls.weights_difference, controls.estimate_difference) < kUnseen;
  const char* first = of_gradient(experiment) ? "gradient" : "weights";
  std::string text = fmt::format(
      "Full-TO's curves differ from those of alpha = 0 with the same beta_t by at most {:.1e} "
      "({}) and {:.1e} (estimate) of their height: {}. ",
      controls.weights_difference, first, controls.estimate_difference,
      unseen ? "what A learns does not show, beta_t does the work" : "A makes a difference here");
  text += about_constant_beta(experiment);
  text += fmt::format(
      " At the end the error of momentum's estimate is {:.3g} times Full-TO's, {} {:.3g} times",
      controls.estimate_ratio,
      of_gradient(experiment) ? "its mean |grad F|^2" : "that of its weights",
      controls.weights_ratio);
  const bool same_weights = std::abs(controls.weights_ratio - 1) < kUnseen;
  text += same_weights && controls.estimate_ratio > 2
              ? ": the better estimate is no gain for the weights."
              : ".";
  const theory::Curve bounds = bound_curves(experiment);
  if (!bounds.weights.empty()) {
    const theory::Curve& full = result_of(experiment, "full-to").curve;
    text += fmt::format(
        " There the theorem's bounds are {:.1e} ({}) and {:.1e} (estimate) times Full-TO's "
        "errors.",
        bounds.weights.back() / full.weights.back(), first,
        bounds.estimate.back() / full.estimate.back());
  }
  return text;
}

std::vector<Figure> theory_figures(const TheoryRun& run) {
  return {of_gradient(run.experiment)
              ? error_figure(run, "gradient", "Gradient", "E|∇F(w)|²", &theory::Curve::weights)
              : error_figure(run, "weights", "Error of the weights", "E|w − w*|²",
                             &theory::Curve::weights),
          error_figure(run, "estimate", "Error of the estimate", "E|G − ∇F|²",
                       &theory::Curve::estimate)};
}

Table theory_curves(const std::vector<TheoryRun>& runs) {
  Table table({{"experiment"},
               {"method"},
               {"step"},
               {"weights_error"},
               {"estimate_error"},
               {"weights_bound"},
               {"estimate_bound"}});
  for (const TheoryRun& run : runs) {
    const theory::Curve bounds = bound_curves(run.experiment);
    for (const MethodResult& result : run.experiment.results) {
      // A bound is one only for those that the theorem speaks of.
      const bool bounded = result.certified && !bounds.weights.empty();
      for (std::size_t k = 0; k < run.experiment.steps.size(); ++k) {
        table.add({run.name, result.name, std::to_string(run.experiment.steps[k]),
                   fmt::format("{}", result.curve.weights[k]),
                   fmt::format("{}", result.curve.estimate[k]),
                   bounded ? fmt::format("{}", bounds.weights[k]) : "",
                   bounded ? fmt::format("{}", bounds.estimate[k]) : ""});
      }
    }
  }
  return table;
}

Section theory_section(const TheoryRun& run) {
  const Experiment& experiment = run.experiment;
  Section section;
  section.title = run.title;
  section.text =
      fmt::format("{}\n\n{}\n\n{}\n\n{}", run.text, verdict(experiment.facts, experiment.rates),
                  reasons(experiment), what_controls_show(experiment));
  section.tables.push_back({slopes_table(experiment), "Slopes with 95 % intervals"});
  if (of_gradient(experiment)) {
    section.tables.push_back(
        {least_table(experiment),
         "Least errors of the steps up to T with 95 % intervals, and times log((T + 1 + mu) / (1 + "
         "mu)): Theorem 2 bounds these products"});
  }
  section.tables.push_back({constants_table(experiment.facts, experiment.rates, run.smoothness),
                            "Constants and bounds"});
  section.tables.push_back({conditions_table(experiment.facts, experiment.rates), "Conditions"});
  section.figures = theory_figures(run);
  return section;
}

std::optional<std::size_t> write_theory(const std::filesystem::path& folder,
                                        const TheoryResults& results) {
  report::Document document;
  document.title = "The theorems, measured";
  document.commands = {results.command};
  document.facts = results.facts;
  std::vector<Figure> figures;
  for (const TheoryRun& run : results.runs) {
    document.sections.push_back(theory_section(run));
    const auto& own = document.sections.back().figures;
    figures.insert(figures.end(), own.begin(), own.end());
  }
  if (!results.missing.empty()) {
    document.sections.insert(
        document.sections.begin() + 1,
        Section{.title = "(b) Milder rates on NSL-KDD: no data", .text = results.missing});
  }
  const bool drawn = report::figures_available();
  if (drawn) report::write_figures(folder, figures, {.svg = true, .png = false});
  write_atomically(folder / "theory.csv",
                   [&](std::ostream& stream) { stream << theory_curves(results.runs).csv(); });
  write_atomically(folder / "theory.md",
                   [&](std::ostream& stream) { stream << report::markdown_page(document, drawn); });
  return drawn ? std::optional(figures.size()) : std::nullopt;
}

}  // namespace tandem::paper
