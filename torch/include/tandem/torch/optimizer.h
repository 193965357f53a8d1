// SPDX-License-Identifier: MIT
// What all optimizers share; those of each rule are in rules.h. They step over the tensors' own memory with the kernels of the library, on
// torch's threads.
#pragma once

#include <tandem/errors.h>
#include <tandem/optimizer.h>
#include <tandem/torch/options.h>
#include <tandem/torch/state.h>
#include <torch/optim/optimizer.h>
#include <torch/ordered_dict.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tandem::optim {

/// What all optimizers here share. On the CPU, for dense float, double and bfloat16 parameters; the
/// state is double for double parameters and float for the others, in the tensors of state().
/// Parameters without a gradient are passed by. A step that throws has changed neither weights nor
/// state.
class Optimizer : public torch::optim::Optimizer {
 public:
  ~Optimizer() override;
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) = delete;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  torch::Tensor step(LossClosure closure = nullptr) override;
  /// Hides torch's, which loses what it does not know of a group's options.
  void add_param_group(const torch::optim::OptimizerParamGroup& group);

  /// Everything but the parameters: options of the groups and the state. For torch::save and
  /// torch::load. A load that throws (StateError) has changed nothing.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

  /// Gives parameters the names that messages and saved states call them by. Without this they are
  /// called by their place: "parameter 3 of group 0".
  void name_parameters(const torch::OrderedDict<std::string, torch::Tensor>& named);
  /// The state by parameter name as a safetensors file; options are not in it. Parameters must have
  /// been named.
  void save_state(const std::string& path) const;
  /// Throws StateError that names what does not fit, and changes nothing.
  void load_state(const std::string& path);

  /// The name of the rule: "diag-to".
  const std::string& rule() const;
  /// What state() has of a parameter, whose keys differ between versions of torch; nullptr before its
  /// first step.
  ParamState* state_of(const torch::Tensor& parameter);
  const ParamState* state_of(const torch::Tensor& parameter) const;
  /// Norms over all, and the largest delta, of the last step of a trainable rule.
  Diagnostics last() const;
  std::size_t state_bytes() const;
  /// Steps left out under OnNonFinite::skip.
  std::uint64_t skipped_steps() const;

 protected:
  Optimizer(std::string rule, std::vector<torch::optim::OptimizerParamGroup> groups,
            std::unique_ptr<Options> defaults);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The optimizer of a rule's options, as torch's are constructed.
template <class RuleOptions>
class Rule : public Optimizer {
 public:
  explicit Rule(std::vector<torch::optim::OptimizerParamGroup> groups,
                const RuleOptions& defaults = {})
      : Optimizer(RuleOptions::rule, std::move(groups), std::make_unique<RuleOptions>(defaults)) {}
  explicit Rule(std::vector<torch::Tensor> parameters, const RuleOptions& defaults = {})
      : Rule(std::vector<torch::optim::OptimizerParamGroup>{{std::move(parameters)}}, defaults) {}
};

}  // namespace tandem::optim
