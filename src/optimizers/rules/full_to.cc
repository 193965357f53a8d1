// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_full_to() {
  return {
      .order = 0,
      .name = "full-to",
      .class_name = "FullTO",
      .summary = "Full-TO: G = A w + b with a full matrix A.",
      .rule = "r = g - A w - b; A += alpha r w'; b += beta r; w -= lr (A w + b)",
      .reference = kPaper,
      .state_bytes = "4 (d^2 + d) dense; 4 t d + 8 t^2 at step t as span",
      .options = trainable_options(
          rate("lr", 0.01, "gamma of the paper."), "|w|^2",
          {choice("form", "Form", 0,
                  "How A is kept: dense, as the span of the residuals that it is made of, or the "
                  "cheaper one within memory_limit."),
           count(
               "memory_limit", std::size_t{4} << 30, Range::positive,
               "Bytes of state and workspace together; a fixed default, so that the form does not "
               "depend on the machine."),
           count(
               "max_steps", 0, Range::non_negative,
               "How long the run will be, if known: a span that cannot hold it is then refused at "
               "once.")
               .not_in_torch(),
           starting_values("initial_A", "d x d values, row by row; empty is 0, as in the paper."),
           starting_values("initial_b", "d values; empty is 0.")}),
      .state = {{"A", Shape::other, "The matrix; dense.", "", 0, "d^2"},
                {"b", Shape::other, "The constant part of the estimate; dense.", "", 0, "d"},
                {"u", Shape::other, "Left factors that are not in A yet; dense.", "", 0, "64 d"},
                {"v", Shape::other, "Right factors that are not in A yet; dense.", "", 0, "64 d"},
                {"history", Shape::other, "The residuals; span, grows.", "", 0, "t d"},
                {"products", Shape::other, "Their inner products; span, grows.", "", 0, "t^2 / 2"},
                {"weights_at", Shape::other, "The weights at each of them; span, grows.", "", 0,
                 "t^2 / 2"},
                {"row_facts", Shape::other, "Rates and coefficients of each; span, grows.", "", 0,
                 "5 t"}},
      .stages =
          [](const Values& o) {
            detail::TrainableSpec spec = trainable(o, Structure::full);
            spec.initial_a = o.list("initial_A");
            spec.initial_b = o.list("initial_b");
            spec.form = o.choice<Form>("form");
            spec.memory_limit = o.count("memory_limit");
            spec.max_steps = o.count("max_steps");
            return Stages{spec};
          },
      .tuning = trainable_tuning(1e-3, 1, false),
      .weights_per_estimate = "d",
      .torch_positional = {"lr", "alpha", "beta"},
      .hand_written_class = true,
  };
}

}  // namespace tandem::rules
