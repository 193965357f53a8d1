// SPDX-License-Identifier: MIT
#include "optimizers/rules/shared.h"

namespace tandem::rules {

Declaration declare_block_to() {
  return {
      .order = 10,
      .name = "block-to",
      .class_name = "BlockTO",
      .summary =
          "Block-TO: Full-TO on each block of coordinates, between Diag-TO (block 1) and "
          "Full-TO (block d).",
      .rule = "full-to on each block of coordinates",
      .reference = "this project",
      .state_bytes = "4 (block + 1) d",
      .options = trainable_options(
          rate("lr", 0.01, "gamma of the paper."), "|w|^2 of the block",
          {count("block", 16, Range::positive,
                 "Coordinates per block; the last one may be shorter. The state is 4 * (block + 1) "
                 "bytes a parameter.")}),
      .state = {{"A", Shape::other, "The matrices of the blocks.", "", 0, "block d"},
                {"b", Shape::other, "The constant part of the estimate.", "", 0, "d"}},
      .stages =
          [](const Values& o) {
            detail::TrainableSpec spec = trainable(o, Structure::block);
            spec.block = o.count("block");
            return Stages{spec};
          },
      .tuning = trainable_tuning(1e-3, 1, false),
      .weights_per_estimate = "block",
      .torch_positional = {"lr", "alpha", "beta"},
      .narrow_state = false,
  };
}

}  // namespace tandem::rules
