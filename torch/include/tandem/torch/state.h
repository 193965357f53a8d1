// SPDX-License-Identifier: MIT
// What an optimizer remembers of a parameter: the values of torch::optim::Optimizer::state().
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tandem::optim {

/// A count or a number that is carried from step to step.
using Scalar = std::variant<std::uint64_t, double>;

/// What Full-TO keeps of a scope and Block-TO of a tensor, which is not shaped like a parameter. The
/// coordinates of a parameter are in row-major order, whatever its memory format.
struct UnitState {
  /// Flat tensors: `A`, `b`, `u`, `v` have one, those that grow (`history`, `products`, `weights_at`,
  /// `row_facts`) one more from time to time.
  std::map<std::string, std::vector<torch::Tensor>> arrays = {};
  std::map<std::string, Scalar> scalars = {};
};

/// Steps are made in the memory of these tensors. Who replaces a tensor or a number, or writes to
/// one, is honoured in the next step.
class ParamState : public torch::optim::OptimizerCloneableParamState<ParamState> {
 public:
  using Arrays = std::map<std::string, torch::Tensor>;
  using Scalars = std::map<std::string, Scalar>;
  using Unit = std::optional<UnitState>;

  /// Steps made: 1 after the first.
  TORCH_ARG(std::int64_t, step) = 0;
  /// In the parameter's shape, by torch's names where torch has the rule: `exp_avg` and `exp_avg_sq`
  /// of Adam; `a` and `b` of Diag-TO.
  TORCH_ARG(Arrays, arrays) = {};
  /// Of each parameter of a scope the same: `mu_product` of NAdamW, `c_known` of RO-TO.
  TORCH_ARG(Scalars, scalars) = {};
  /// Full-TO and Block-TO: of the first parameter of a scope.
  TORCH_ARG(Unit, unit) = {};

 public:
  void serialize(torch::serialize::OutputArchive& archive) const override;
  /// Throws StateError for what cannot be read.
  void serialize(torch::serialize::InputArchive& archive) override;
};

}  // namespace tandem::optim
